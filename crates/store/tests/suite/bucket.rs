//! Objects in a bucket, on a server that implements the part of S3 that the store uses.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use store::{DataKey, Error, ObjectName, Objects, Scope};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use uuid::Uuid;

type Bucket = Arc<Mutex<BTreeMap<String, Vec<u8>>>>;

async fn serve(stream: TcpStream, bucket: Bucket) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let mut request = String::new();
        if stream.read_line(&mut request).await? == 0 {
            return Ok(());
        }
        let mut length = 0;
        loop {
            let mut header = String::new();
            stream.read_line(&mut header).await?;
            if header.trim().is_empty() {
                break;
            }
            let (name, value) = header.split_once(':').unwrap();
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.trim().parse().unwrap(),
                "authorization" => assert!(value.contains("AWS4-HMAC-SHA256 Credential=key/"), "{value}"),
                _ => {}
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await?;
        let words: Vec<&str> = request.split(' ').collect();
        let (status, answer) = answer(words[0], words[1].strip_prefix("/faces").unwrap(), body, &bucket);
        let head = format!(
            "HTTP/1.1 {status}\r\ncontent-length: {}\r\nlast-modified: Fri, 21 Nov 2025 00:00:00 GMT\r\netag: \"1\"\r\n\r\n",
            answer.len()
        );
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(&answer).await?;
    }
}

fn answer(method: &str, path: &str, body: Vec<u8>, bucket: &Bucket) -> (&'static str, Vec<u8>) {
    let mut bucket = bucket.lock().unwrap();
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let name = path.trim_start_matches('/').to_owned();
    match (method, query) {
        ("PUT", "") => {
            bucket.insert(name, body);
            ("200 OK", Vec::new())
        }
        ("GET", "") => match bucket.get(&name) {
            Some(object) => ("200 OK", object.clone()),
            None => ("404 Not Found", Vec::new()),
        },
        ("GET", query) if query.contains("list-type=2") => {
            let prefix = query
                .split('&')
                .find_map(|pair| pair.strip_prefix("prefix="))
                .unwrap();
            let prefix = prefix.replace("%2F", "/");
            let mut list = String::from("<ListBucketResult>");
            for (key, object) in bucket.iter().filter(|(key, _)| key.starts_with(&prefix)) {
                let size = object.len();
                write!(
                    list,
                    "<Contents><Key>{key}</Key><LastModified>2025-11-21T00:00:00.000Z</LastModified>\
                     <ETag>1</ETag><Size>{size}</Size></Contents>"
                )
                .unwrap();
            }
            list.push_str("<IsTruncated>false</IsTruncated></ListBucketResult>");
            ("200 OK", list.into_bytes())
        }
        ("DELETE", "") => {
            bucket.remove(&name);
            ("204 No Content", Vec::new())
        }
        ("POST", query) if query.starts_with("delete") => {
            let body = String::from_utf8(body).unwrap();
            let mut deleted = String::from("<DeleteResult>");
            for key in body
                .split("<Key>")
                .skip(1)
                .filter_map(|part| part.split("</Key>").next())
            {
                bucket.remove(key);
                write!(deleted, "<Deleted><Key>{key}</Key></Deleted>").unwrap();
            }
            deleted.push_str("</DeleteResult>");
            ("200 OK", deleted.into_bytes())
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_bucket_holds_ciphertext_only() {
    let bucket = Bucket::default();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let served = bucket.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, served.clone()));
        }
    });
    let options = [
        ("endpoint", endpoint.as_str()),
        ("allow_http", "true"),
        ("region", "eu-central-1"),
        ("access_key_id", "key"),
        ("secret_access_key", "secret"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()));
    let objects = Objects::open("s3://faces/some/prefix", &options).unwrap();
    let scope = Scope {
        merchant_id: Uuid::from_u128(1),
        sandbox: false,
    };
    let name = ObjectName {
        scope,
        attempt_id: Uuid::from_u128(2),
        file: "selfie",
    };
    let key = DataKey::generate();
    objects.put(&key, &name, b"a face").await.unwrap();
    {
        let bucket = bucket.lock().unwrap();
        let (path, sealed) = bucket.first_key_value().unwrap();
        assert!(path.starts_with("some/prefix/00000000-"), "{path}");
        assert!(!sealed.windows(6).any(|window| window == b"a face"));
    }
    assert_eq!(objects.get(&key, &name).await.unwrap().as_slice(), b"a face");
    let missing = ObjectName { file: "back", ..name };
    assert!(matches!(
        objects.get(&key, &missing).await,
        Err(Error::Missing(_))
    ));
    assert_eq!(objects.delete_attempt(scope, name.attempt_id).await.unwrap(), 1);
    assert!(bucket.lock().unwrap().is_empty());
    objects.ping().await.unwrap();
}
