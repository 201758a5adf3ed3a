//! Reads small bodies into memory, limited in size and time, so that a slow sender cannot occupy its
//! connection for long. It does not interpret the content. Files are read by [`crate::form`].

use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use service::problem::{Kind, Problem};

/// How long a body may take to arrive completely.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// Reads the whole body.
///
/// # Errors
/// 413 as soon as the body exceeds `limit` bytes, 408 if it takes longer than 30 seconds, 400 if it ends
/// early.
pub async fn whole(body: Body, limit: usize) -> Result<Bytes, Problem> {
    within(BODY_TIMEOUT, body, limit).await
}

async fn within(patience: Duration, body: Body, limit: usize) -> Result<Bytes, Problem> {
    let collected = tokio::time::timeout(patience, Limited::new(body, limit).collect()).await;
    let Ok(collected) = collected else {
        return Err(Problem::new(Kind::Timeout, "The body did not arrive in time"));
    };
    match collected {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(Problem::new(
            Kind::TooLarge,
            format!("The body is larger than {limit} bytes"),
        )),
        Err(error) => Err(Problem::invalid("The body could not be read to its end").because(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    #[tokio::test]
    async fn a_body_that_does_not_end_is_given_up() {
        let trickle = futures_util::stream::unfold((), |()| async {
            tokio::time::sleep(Duration::from_millis(5)).await;
            Some((Ok::<_, io::Error>(Bytes::from_static(b"x")), ()))
        });
        for (body, limit, expected) in [
            (Body::from_stream(trickle), 1_000_000, Kind::Timeout),
            (
                Body::from_stream(futures_util::stream::pending::<io::Result<Bytes>>()),
                10,
                Kind::Timeout,
            ),
            (Body::from("eleven bytes"), 10, Kind::TooLarge),
        ] {
            let given_up = within(Duration::from_millis(100), body, limit).await;
            assert_eq!(given_up.unwrap_err().kind(), expected);
        }
        assert_eq!(whole(Body::from("ten bytes."), 10).await.unwrap(), "ten bytes.");
    }
}
