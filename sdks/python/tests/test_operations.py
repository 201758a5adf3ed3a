"""The methods and the generated files, compared with the OpenAPI document. It needs no server."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from bonafide import Bonafide
from bonafide.generated.endpoints import ENDPOINTS

SDK = Path(__file__).resolve().parent.parent
RESOURCES = SDK / "src/bonafide/resources"


def test_the_generated_files_are_current() -> None:
    command = [sys.executable, str(SDK / "scripts/generate.py"), "--check"]
    checked = subprocess.run(command, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_each_operation_of_the_document_has_a_method() -> None:
    source = "".join(file.read_text() for file in RESOURCES.glob("*.py"))
    called = re.findall(r'_transport\.\w+\([^"]*"(\w+)"', source)
    # The variant with a path is the same operation as findApplicantByExternalUserId, which takes every id.
    assert set(ENDPOINTS) - set(called) == {"getApplicantByExternalUserId"}
    assert set(called) <= set(ENDPOINTS)


def test_each_resource_belongs_to_the_client() -> None:
    with Bonafide(base_url="https://v.example", api_key="a", secret="s") as client:
        names = {name for name in vars(client) if not name.startswith("_")}
    assert names == {file.stem for file in RESOURCES.glob("[a-z]*.py")}
