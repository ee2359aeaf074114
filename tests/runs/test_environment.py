import json
import os
import subprocess
import sys

import pytest

from maskprior.errors import UserError
from maskprior.runs.environment import PINNED, choose_device, describe, device_class


def test_a_record_of_where_it_ran_names_no_machine_and_no_folder() -> None:
    text = json.dumps(describe("cpu"))
    assert os.uname().nodename not in text
    assert os.getcwd() not in text
    assert os.path.expanduser("~") not in text


def test_the_device_class_survives_the_record() -> None:
    here = describe("cpu")
    assert device_class(json.loads(json.dumps(here))) == device_class(here)
    assert here["threads"] == 1
    assert here["pinned"] == PINNED


def test_pinning_after_torch_is_too_late_unless_it_changes_nothing() -> None:
    program = "import torch\nfrom maskprior.runs.environment import pin\npin()"
    plain = {name: value for name, value in os.environ.items() if name not in PINNED}
    late = subprocess.run([sys.executable, "-c", program], env=plain, capture_output=True, text=True, check=False)
    assert late.returncode == 1
    assert "torch was imported before" in late.stderr
    subprocess.run([sys.executable, "-c", program], env=plain | PINNED, check=True)


def test_the_processor_is_asked_for_without_torch() -> None:
    program = (
        "import sys\nsys.modules['torch'] = None\nfrom maskprior.runs.environment import choose_device, cpu_family\n"
    )
    subprocess.run([sys.executable, "-c", program + "choose_device('cpu')\nassert cpu_family()"], check=True)


def test_cuda_is_refused_where_there_is_none() -> None:
    import torch

    if torch.cuda.is_available():
        assert choose_device("auto") == choose_device("cuda") == "cuda"
        return
    assert choose_device("auto") == "cpu"
    with pytest.raises(UserError, match="cuda was asked for") as caught:
        choose_device("cuda")
    assert caught.value.exit_code == 2
