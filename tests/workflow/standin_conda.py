"""A stand-in for the `conda` program, for machines that have none, and a local channel for it to install from.

Real: the solve and the linking (rattler, conda's own file formats), the relocated Python, pip with the project's
hash-locked requirements, Snakemake's side of it, the unmodified envs/*.yaml.
Not real: the command line (the six calls that Snakemake makes, and `activate`); the channel, which holds only the
python and the pip of the running environment; and the packages of the lock, which are not installed again but seen
through a .pth file: pip then finds each already satisfied, or fails, since it is given no index.
"""

import asyncio
import json
import shutil
import subprocess
import sys
import sysconfig
from importlib.metadata import distribution
from pathlib import Path

import yaml

VERSION = "24.7.1"
ACTIVATE = 'export CONDA_PREFIX="$1" PATH="$1/bin:$PATH"\n'


def install(folder: Path) -> Path:
    """Make a conda in `folder` with a channel `conda-forge` of its own; returns the folder of its programs."""
    build_channel(folder / "channels" / "conda-forge")
    programs = folder / "bin"
    programs.mkdir()
    (programs / "activate").write_text(ACTIVATE)
    command = f'exec "{sys.executable}" "{Path(__file__).resolve()}" "{folder}" "$@"'
    (programs / "conda").write_text(f"#!/bin/sh\n{command}\n")
    (programs / "conda").chmod(0o755)
    return programs


def build_channel(channel: Path) -> None:
    """The running interpreter and its pip as conda packages."""
    from rattler.index import index_fs
    from rattler_build import assemble_package

    staged = channel.with_name("staged")
    python = staged / "python"
    short = f"python{sys.version_info.major}.{sys.version_info.minor}"
    left_out = ("site-packages", "dist-packages", "test", "tests", "__pycache__", "config-*", "*.a")
    shutil.copytree(sysconfig.get_path("stdlib"), python / "lib" / short, ignore=shutil.ignore_patterns(*left_out))
    (python / "lib" / short / "site-packages").mkdir()
    (python / "lib" / short / "site-packages" / "README.txt").write_text("packages go here\n")
    for library in Path(sysconfig.get_config_var("LIBDIR")).glob("libpython3*.so*"):
        shutil.copy2(library, python / "lib" / library.name)
    (python / "bin").mkdir()
    for name in ("python", "python3", short):
        shutil.copy2(Path(sys.executable).resolve(), python / "bin" / name)
    pip = distribution("pip")
    for file in pip.files or ():
        source, target = Path(str(pip.locate_file(file))), staged / "pip" / "site-packages" / str(file)
        if not str(file).startswith("..") and source.suffix != ".pyc":
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
    for platform in ("linux-64", "noarch"):
        (channel / platform).mkdir(parents=True)
    version = ".".join(map(str, sys.version_info[:3]))
    common = {"build_string": "0", "compression_level": 1}
    assemble_package("python", version, "linux-64", output_dir=channel / "linux-64", files_dir=python, **common)
    noarch = {"output_dir": channel / "noarch", "noarch": "python", "depends": ["python"]}
    assemble_package("pip", pip.version, "noarch", files_dir=staged / "pip", **noarch, **common)
    asyncio.run(index_fs(channel, force=True))


def create(base: Path, file: Path, prefix: Path) -> None:
    """`conda env create`: solve and link the conda part of `file`, then pip install its pip part."""
    import rattler

    environment = yaml.safe_load(file.read_text())
    specs = [spec for spec in environment["dependencies"] if isinstance(spec, str)]
    pip_part = [line for part in environment["dependencies"] if isinstance(part, dict) for line in part["pip"]]
    aliases = rattler.ChannelConfig(channel_alias=(base / "channels").as_uri() + "/")
    channels = [rattler.Channel(name, aliases) for name in environment["channels"]]

    async def solve_and_link() -> None:
        records = await rattler.solve(channels, specs, platforms=["linux-64", "noarch"])
        await rattler.install(records, prefix, cache_dir=base / "cache", show_progress=False)

    asyncio.run(solve_and_link())
    python = prefix / "bin" / "python"
    query = "import sysconfig; print(sysconfig.get_path('purelib'))"
    packages = subprocess.run([python, "-c", query], capture_output=True, text=True, check=True).stdout.strip()
    Path(packages, "running-environment.pth").write_text(sysconfig.get_path("purelib") + "\n")
    # As conda does it: the lines go into a file beside the environment's, from where relative paths are resolved.
    lines = file.with_name(f"{file.stem}.requirements.txt")
    lines.write_text("\n".join(pip_part) + "\n")
    install = ["-m", "pip", "install", "--no-index", "--require-hashes", "-r", str(lines)]
    subprocess.run([python, *install], cwd=file.parent, check=True)


def main(base: Path, words: list[str]) -> int:
    match words:
        case ["info", "--json"]:
            print(json.dumps({"conda_prefix": str(base), "platform": "linux-64"}))
        case ["--version"]:
            print(f"conda {VERSION}")
        case ["config", "--get", "channel_priority", "--json"]:
            print(json.dumps({"get": {"channel_priority": "strict"}}))
        case ["clean", *_]:
            pass
        case ["env", "create", "--quiet", "--no-default-packages", "--file", file, "--prefix", prefix]:
            create(base, Path(file), Path(prefix))
        case _:
            print(f"the stand-in does not know: conda {' '.join(words)}", file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
