//! `POST /v2/idv/verify` and its records (contract §4.6, §2.5, §2.6, §4.8), with specimens that the project
//! renders.

mod account_size;
mod outcomes;
mod registration;
mod requests;
mod reuse;

use std::path::{Path, PathBuf};

use reqwest::Method;
use reqwest::multipart::{Form, Part};
use serde_json::{Value, json};

use crate::harness::{Key, Server, answer, workspace};

const VERIFY: &str = "/v2/idv/verify";

/// A specimen of `specimens/index.json`.
#[derive(Clone)]
pub(crate) struct Specimen(pub(crate) Value);

fn specimens() -> PathBuf {
    workspace().join("specimens")
}

fn all() -> Vec<Specimen> {
    let index = std::fs::read(specimens().join("index.json")).expect("specimens: run `make specimens`");
    serde_json::from_slice::<Vec<Value>>(&index)
        .unwrap()
        .into_iter()
        .map(Specimen)
        .collect()
}

pub(crate) fn specimen(name: &str) -> Specimen {
    all()
        .into_iter()
        .find(|specimen| specimen.0["name"] == name)
        .unwrap_or_else(|| panic!("no specimen {name}"))
}

impl Specimen {
    /// Its form, with text fields replaced (null: omitted).
    pub(crate) fn form(&self, demo: &Value, changes: &Value) -> Form {
        self.form_with(demo, changes, &[])
    }

    /// Its form, with some files replaced too.
    pub(crate) fn form_with(&self, demo: &Value, changes: &Value, others: &[(&str, Vec<u8>)]) -> Form {
        let mut fields = self.0["fields"].as_object().unwrap().clone();
        let flow = self.0["flow"].as_str().unwrap();
        fields.insert("flowId".into(), demo["flows"][flow].clone());
        fields
            .entry("externalUserId")
            .or_insert_with(|| self.0["name"].clone());
        fields.extend(changes.as_object().unwrap().clone());
        let mut form = Form::new();
        for (name, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
            form = form.text(name.clone(), value.as_str().unwrap().to_owned());
        }
        for (field, file) in self.0["files"].as_object().unwrap() {
            let other = others.iter().find(|(other, _)| other == field);
            let bytes = match other {
                Some((_, bytes)) => bytes.clone(),
                None => std::fs::read(Path::new(&specimens()).join(file.as_str().unwrap())).unwrap(),
            };
            form = form.part(field.clone(), Part::bytes(bytes).file_name("x.jpg"));
        }
        form
    }
}

pub(crate) async fn verify(server: &Server, demo: &Value, form: Form) -> (u16, Value) {
    answer(
        server
            .request(Method::POST, VERIFY, &Key::of_demo(demo))
            .multipart(form)
            .send()
            .await
            .unwrap(),
    )
    .await
}

pub(crate) fn person(demo: &Value, changes: Value) -> Form {
    let mut fields = json!({"firstName": "Ada", "lastName": "Quill", "externalUserId": "ada", "flowId": demo["flows"]["data-only"]});
    fields
        .as_object_mut()
        .unwrap()
        .extend(changes.as_object().unwrap().clone());
    fields
        .as_object()
        .unwrap()
        .iter()
        .filter(|(_, value)| !value.is_null())
        .fold(Form::new(), |form, (name, value)| {
            form.text(name.clone(), value.as_str().unwrap().to_owned())
        })
}

/// A data-only submission of a person on the sandbox's invented sanctions list.
pub(crate) fn demo_person(demo: &Value, user: &str) -> Form {
    let listed = json!({"firstName": "Zoltar", "lastName": "Quenthabar", "externalUserId": user});
    person(demo, listed)
}

pub(crate) fn codes(body: &Value) -> Vec<u64> {
    [
        "idvResult",
        "documentResult",
        "ocrResult",
        "minimumAgeResult",
        "kycResults",
    ]
    .iter()
    .flat_map(|object| body[object]["codes"].as_array().cloned().unwrap_or_default())
    .filter_map(|code| code.as_u64())
    .collect()
}
