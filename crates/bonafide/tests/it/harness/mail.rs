//! A mail server for tests, which takes one letter at a time.

use std::sync::Arc;

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;

/// A mail server for one letter. Returns what it received.
pub(crate) async fn one_letter(listener: Arc<TcpListener>) -> String {
    letter_to(listener, b"250 ok\r\n").await
}

/// A mail server that answers to the recipient of one letter. Returns what it received until then.
pub(crate) async fn letter_to(listener: Arc<TcpListener>, answer_to_recipient: &'static [u8]) -> String {
    let (stream, _) = listener.accept().await.unwrap();
    let (reading, mut writing) = stream.into_split();
    let mut lines = BufReader::new(reading).lines();
    let (mut text, mut in_data) = (String::new(), false);
    writing.write_all(b"220 test\r\n").await.unwrap();
    while let Some(line) = lines.next_line().await.unwrap() {
        text.push_str(&line);
        text.push('\n');
        let answer: &[u8] = match line.as_str() {
            "." => {
                in_data = false;
                b"250 taken\r\n"
            }
            _ if in_data => continue,
            "DATA" => {
                in_data = true;
                b"354 go on\r\n"
            }
            _ if line.starts_with("RCPT ") => answer_to_recipient,
            "QUIT" => {
                writing.write_all(b"221 bye\r\n").await.unwrap();
                break;
            }
            _ => b"250 ok\r\n",
        };
        writing.write_all(answer).await.unwrap();
        if text.contains("\n.\n") {
            break;
        }
    }
    text.replace("=\n", "").replace("=3D", "=")
}

/// A mail server's listener, and the server arguments that configure it.
pub(crate) async fn mail_server() -> (Arc<TcpListener>, [String; 4]) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("smtp://{}", listener.local_addr().unwrap());
    let arguments = ["--smtp-url", &url, "--mail-from", "Bonafide <verify@example.com>"];
    (Arc::new(listener), arguments.map(str::to_owned))
}
