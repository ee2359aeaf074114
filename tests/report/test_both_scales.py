"""The text and the README speak of the chosen scale and of the paper's, on constructed records."""

from maskprior.analysis import claims
from maskprior.analysis.records import load_target
from maskprior.config.settings import Settings
from maskprior.report.macros import macros
from maskprior.report.readme import results
from tests.constructed_runs import WriteRun
from tests.constructed_table import write_table2


def test_the_text_can_speak_of_both_scales(table2_settings: Settings, write_run: WriteRun) -> None:
    write_table2(write_run)
    write_run("2parity", "mask", 0, {"test_loss": 0.5}, scale="paper")
    at_paper = load_target("all", table2_settings.model_copy(update={"scale": "paper"}))
    found = macros(
        load_target("all", table2_settings), claims.evaluate(table2_settings), table2_settings, at_paper=at_paper
    )
    assert found["paper/arithmetic/addition/mask/sequence_accuracy/mean"] == "72.00"
    assert found["arithmetic/addition/mask/sequence_accuracy/mean"] == "--"
    assert found["paper/boolean/2parity/mask/test_loss/mean"] == "0.500"
    assert found["boolean/2parity/mask/test_loss/mean"] == "--"
    assert found["difference/paper/arithmetic/addition/mask/sequence_accuracy/mean"] == "70.50"
    assert found["config/arithmetic/addition/mask/train_fraction"] == "0.004"
    # metrics of one experiment are no metrics of another
    assert "boolean/2parity/mask/sequence_accuracy/mean" not in found
    assert "arithmetic/addition/mask/test_sign_accuracy/mean" not in found


def test_readme_has_a_table_per_experiment_that_ran(table2_settings: Settings, write_run: WriteRun) -> None:
    write_table2(write_run)
    text = results(table2_settings, claims.evaluate(table2_settings))
    assert "| task | method | scale | loss:" not in text
    (mask,) = [line for line in text.splitlines() if line.startswith("| Addition | Mask |")]
    assert mask.startswith("| Addition | Mask | paper | 77.49 | 72.00 | 93.86 | 50.00 |")
    assert "| `table2` | paper | 4/4 | 4 s on one core | 1 to 1 s |  |" in text.splitlines()
