"""Is what lies here what the registry and the manifest say?"""

from maskprior.datasets import acquire, checksums, manifest, prepare
from maskprior.datasets.registry import load
from maskprior.errors import DATA, UserError


def verify(name: str) -> list[str]:
    """Hash everything of a data set again and return what was found to be right, one line each.

    UserError (3) with what is missing or differs, or if there is nothing to verify.
    """
    dataset = load()[name]
    right: list[str] = []
    wrong: list[str] = []
    if dataset.generated:
        problem = prepare.generated_problem(name, dataset)
        (wrong if problem else right).append(f"generated content {problem or 'has the registered hash'}")
    raw = acquire.raw_folder(name)
    if raw.is_dir():
        problems = acquire.problems(dataset, raw)
        wrong += [f"data/raw/{name}/{problem}" for problem in problems]
        if not problems:
            right.append(f"data/raw/{name} is as registered")
    folder = manifest.prepared_folder(name)
    if folder.is_dir():
        files = manifest.read(name).files
        found = [(file, checksums.member_mismatch(folder / file, checksum)) for file, checksum in files.items()]
        wrong += [f"data/{name}/{file} {problem}" for file, problem in found if problem]
        if not any(problem for _, problem in found):
            right.append(f"data/{name} is as its manifest says")
    if wrong:
        raise UserError(
            f"{name}: {'; '.join(wrong)}. Delete data/{name} and data/raw/{name} and fetch or import again", DATA
        )
    if not right:
        raise UserError(f"{name}: nothing here yet; run: maskprior data fetch {name}", DATA)
    return right
