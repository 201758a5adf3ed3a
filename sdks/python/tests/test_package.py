"""The package as it is published: its files, its metadata, its types, and the samples of the documents."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import bonafide
import pytest

SDK = Path(__file__).resolve().parent.parent
DOCUMENTS = (SDK / "README.md", SDK / "../../docs/integrators/sdk-python.md")
CONSUMER = """
from bonafide import VERSION, Bonafide, NotFoundError, verify_webhook
from bonafide.models import Session

client = Bonafide(base_url="https://verify.example.com", api_key="bf_test_a", secret="s")


def session(session_id: str) -> Session:
    return client.sessions.get(session_id)


def names() -> list[str]:
    return [invitation["userId"] for invitation in client.invitations.list(status="open")]


def receive(body: bytes, headers: dict[str, str]) -> str:
    event = verify_webhook(body, headers, "whsec_c2VjcmV0")
    if event["type"] == "webhook.test":
        return event["data"]["flowId"]
    return ",".join(map(str, event["data"]["codes"]))


client.invitations.list(status="opened")  # type: ignore[arg-type]  # not a status
print(VERSION, NotFoundError.__name__)
"""
# What the samples in the documents use without declaring it.
DECLARATIONS = """
import os
from pathlib import Path
from bonafide import Bonafide
from http.server import BaseHTTPRequestHandler
{bonafide}
group_id: str
flow_id: str
session_id: str
raw_body: bytes
request: BaseHTTPRequestHandler
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(SDK)]
    made = subprocess.run(command, capture_output=True, text=True)
    assert made.returncode == 0, made.stdout + made.stderr
    return folder


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder where the wheel is unpacked, which is how pip installs a wheel without scripts."""
    folder = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(wheel(built)) as archive:
        archive.extractall(folder)
    return folder


def wheel(built: Path) -> Path:
    [found] = built.glob("*.whl")
    return found


def sources() -> set[str]:
    files = (SDK / "src/bonafide").rglob("*")
    return {str(file.relative_to(SDK / "src")) for file in files if file.name == "py.typed" or file.suffix == ".py"}


def test_the_wheel_contains_the_modules_their_types_and_the_licence_only(built: Path) -> None:
    assert wheel(built).name == f"bonafide_server-{bonafide.VERSION}-py3-none-any.whl"
    with zipfile.ZipFile(wheel(built)) as archive:
        names = set(archive.namelist())
        info = f"bonafide_server-{bonafide.VERSION}.dist-info"
        metadata = archive.read(f"{info}/METADATA").decode()
    others = {f"{info}/{name}" for name in ("METADATA", "WHEEL", "RECORD", "licenses/LICENSE")}
    assert names == sources() | others
    assert "bonafide/py.typed" in names
    assert "Requires-Python: >=3.10\n" in metadata and "License-Expression: Apache-2.0\n" in metadata
    required = re.findall(r"^Requires-Dist: (\w+)", metadata, re.MULTILINE)
    assert sorted(required) == ["httpx", "typing_extensions"]


def test_the_source_archive_contains_what_the_wheel_is_built_from(built: Path) -> None:
    [archive] = built.glob("*.tar.gz")
    root = f"bonafide_server-{bonafide.VERSION}"
    assert archive.name == f"{root}.tar.gz"
    with tarfile.open(archive) as opened:
        names = {name.removeprefix(f"{root}/") for name in opened.getnames()}
    documents = {"CHANGELOG.md", "LICENSE", "PKG-INFO", "README.md", "pyproject.toml"}
    assert names == {f"src/{name}" for name in sources()} | documents


def test_the_installed_package_and_the_samples_of_the_documents_pass_mypy(installed: Path, tmp_path: Path) -> None:
    samples = [one for file in DOCUMENTS for one in re.findall(r"^```python\n(.*?)^```", file.read_text(), re.S | re.M)]
    assert len(samples) == 7
    (tmp_path / "consumer.py").write_text(CONSUMER)
    for number, sample in enumerate(samples):
        declared = "" if "bonafide = Bonafide(" in sample else "bonafide: Bonafide"
        (tmp_path / f"sample_{number}.py").write_text(DECLARATIONS.format(bonafide=declared) + sample)
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(SDK / ".mypy_cache"), "."]
    checked = subprocess.run(command, cwd=tmp_path, env={"MYPYPATH": str(installed)}, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    ran = subprocess.run(
        [sys.executable, "consumer.py"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split() == [bonafide.VERSION, "NotFoundError"]
