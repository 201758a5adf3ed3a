//! TLS to Electrum servers. The system's roots must trust the certificate of `ssl://host:port`, while
//! `ssl://host:port#sha256=HEX` accepts one certificate only. The pin exists because most such servers sign
//! their own.
//!
//! No certificate is ever accepted without one of these two checks.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use anyhow::Context;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    CryptoProvider, verify_tls12_signature, verify_tls13_signature, verify_tls13_signature_with_raw_key,
};
use rustls::pki_types::{CertificateDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, Error, SignatureScheme,
    StreamOwned,
};
use rustls_platform_verifier::Verifier;
use sha2::{Digest, Sha256};

/// SHA-256 of a certificate in DER.
type Fingerprint = [u8; 32];

/// The address of a URL with `ssl://` (or `tls://`).
#[derive(Clone, Debug, PartialEq)]
pub struct Address {
    /// `host:port`.
    pub host_and_port: String,
    name: ServerName<'static>,
    pin: Option<Fingerprint>,
}

impl Address {
    /// Parses a URL; `None` for one with another scheme.
    ///
    /// # Errors
    /// What is wrong with the URL, without repeating it.
    pub fn parse(url: &str) -> anyhow::Result<Option<Address>> {
        let Some(rest) = url.strip_prefix("ssl://").or_else(|| url.strip_prefix("tls://")) else {
            return Ok(None);
        };
        let (place, pin) = match rest.split_once('#') {
            None => (rest, None),
            Some((place, pin)) => (place, Some(fingerprint(pin)?)),
        };
        let form = "an Electrum server with TLS is ssl://HOST:PORT or ssl://HOST:PORT#sha256=HEX";
        let (host, port) = place.rsplit_once(':').context(form)?;
        port.parse::<u16>().context(form)?;
        let host = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'))
            .unwrap_or(host);
        Ok(Some(Address {
            host_and_port: place.to_owned(),
            name: ServerName::try_from(host.to_owned()).context(form)?,
            pin,
        }))
    }

    /// Whether only one certificate is accepted.
    pub fn is_pinned(&self) -> bool {
        self.pin.is_some()
    }
}

/// Parses `sha256=HEX`, with or without colons between the bytes.
fn fingerprint(text: &str) -> anyhow::Result<Fingerprint> {
    let digits = text.strip_prefix("sha256=").map(|digits| digits.replace(':', ""));
    let mut fingerprint = Fingerprint::default();
    digits
        .and_then(|digits| hex::decode_to_slice(digits, &mut fingerprint).ok())
        .context("behind # stands sha256= and the 64 hexadecimal digits of the certificate's SHA-256")?;
    Ok(fingerprint)
}

/// How a certificate is verified.
#[derive(Debug)]
enum Trust {
    Pin(Fingerprint),
    /// The system's roots.
    Roots(Arc<Verifier>),
}

/// Verifies one server's certificate and records its fingerprint.
#[derive(Debug)]
struct Check {
    trust: Trust,
    provider: Arc<CryptoProvider>,
    seen: Mutex<Option<Fingerprint>>,
}

impl Check {
    fn seen(&self) -> Option<Fingerprint> {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ServerCertVerifier for Check {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let fingerprint: Fingerprint = Sha256::digest(certificate).into();
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = Some(fingerprint);
        match &self.trust {
            Trust::Pin(pin) if *pin == fingerprint => Ok(ServerCertVerified::assertion()),
            Trust::Pin(_) => Err(CertificateError::ApplicationVerificationFailure.into()),
            Trust::Roots(roots) => roots.verify_server_cert(certificate, others, name, ocsp, now),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        match public_key(certificate).filter(|_| matches!(self.trust, Trust::Pin(_))) {
            // A pinned certificate may have X.509 version 1, as ElectrumX's guide creates them.
            Some(key) => {
                let key = SubjectPublicKeyInfoDer::from(key);
                verify_tls13_signature_with_raw_key(message, &key, signature, algorithms)
            }
            None => verify_tls13_signature(message, certificate, signature, algorithms),
        }
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

/// An element of DER.
struct Element<'a> {
    /// The bytes with the tag and the length.
    whole: &'a [u8],
    content: &'a [u8],
    after: &'a [u8],
}

fn element(bytes: &[u8]) -> Option<Element<'_>> {
    let (first, rest) = bytes.get(1..)?.split_first()?;
    let (length, rest) = match usize::from(*first) {
        short @ ..=0x7f => (short, rest),
        long @ 0x81..=0x83 => {
            let (digits, rest) = rest.split_at_checked(long - 0x80)?;
            let length = digits
                .iter()
                .fold(0, |sum, digit| (sum << 8) | usize::from(*digit));
            (length, rest)
        }
        _ => return None,
    };
    let (content, after) = rest.split_at_checked(length)?;
    Some(Element {
        whole: bytes.get(..bytes.len() - after.len())?,
        content,
        after,
    })
}

/// The public key within a certificate (`SubjectPublicKeyInfo`).
fn public_key(certificate: &[u8]) -> Option<&[u8]> {
    let mut rest = element(element(certificate)?.content)?.content;
    // The version, which a certificate of X.509 version 1 lacks.
    if rest.first() == Some(&0xa0) {
        rest = element(rest)?.after;
    }
    // Serial number, algorithm, issuer, validity, subject.
    for _ in 0..5 {
        rest = element(rest)?.after;
    }
    Some(element(rest)?.whole)
}

struct Server {
    config: Arc<ClientConfig>,
    check: Arc<Check>,
}

/// A server's `host:port`, and its pinned certificate if there is one.
type ServerKey = (String, Option<Fingerprint>);

/// The servers, each with its TLS sessions, so that reconnecting is quick. They come from the configuration,
/// not from the database.
#[derive(Default)]
pub struct Tls {
    servers: Mutex<HashMap<ServerKey, Arc<Server>>>,
    roots: OnceLock<Arc<Verifier>>,
}

impl Tls {
    /// The system's roots. A failure to load them is not cached, so the next call tries again.
    fn roots(&self, made: impl FnOnce() -> Result<Verifier, Error>) -> io::Result<Arc<Verifier>> {
        if let Some(roots) = self.roots.get() {
            return Ok(Arc::clone(roots));
        }
        let roots = made().map_err(|error| {
            let why = match error {
                Error::General(why) => why,
                other => other.to_string(),
            };
            io::Error::other(format!(
                "this system has no certificates to trust it by ({why}): install the system's CA certificates, such as the \
                 package ca-certificates"
            ))
        })?;
        Ok(Arc::clone(self.roots.get_or_init(|| Arc::new(roots))))
    }

    fn server(&self, address: &Address) -> io::Result<Arc<Server>> {
        let mut servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (address.host_and_port.clone(), address.pin);
        if let Some(server) = servers.get(&key) {
            return Ok(Arc::clone(server));
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let trust = match address.pin {
            Some(pin) => Trust::Pin(pin),
            None => Trust::Roots(self.roots(|| Verifier::new(Arc::clone(&provider)))?),
        };
        let check = Arc::new(Check {
            trust,
            provider: Arc::clone(&provider),
            seen: Mutex::default(),
        });
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::<Check>::clone(&check))
            .with_no_client_auth();
        let server = Arc::new(Server {
            config: Arc::new(config),
            check,
        });
        servers.insert(key, Arc::clone(&server));
        Ok(server)
    }

    /// Starts TLS on a connection.
    ///
    /// # Errors
    /// When the connection fails, the server does not speak TLS or its certificate is not trusted. The text
    /// states what to do.
    pub fn begin<S: Read + Write>(
        &self,
        address: &Address,
        mut socket: S,
    ) -> io::Result<StreamOwned<ClientConnection, S>> {
        let server = self.server(address)?;
        let mut connection = ClientConnection::new(Arc::clone(&server.config), address.name.clone())
            .map_err(io::Error::other)?;
        while connection.is_handshaking() {
            connection
                .complete_io(&mut socket)
                .map_err(|error| explain_failure(error, address, server.check.seen()))?;
        }
        Ok(StreamOwned::new(connection, socket))
    }

    /// The SHA-256 of the certificate that a server sent last.
    pub fn fingerprint(&self, address: &Address) -> Option<String> {
        let seen = self.server(address).ok()?.check.seen()?;
        Some(hex::encode(seen))
    }
}

/// Explains why TLS did not start, and what to do about it.
fn explain_failure(error: io::Error, address: &Address, seen: Option<Fingerprint>) -> io::Error {
    let reason = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
    let text = match (reason, seen.map(hex::encode)) {
        (Some(Error::InvalidCertificate(why)), Some(seen))
            if address.pin.map(hex::encode).as_ref() == Some(&seen) =>
        {
            match why {
                CertificateError::BadSignature => {
                    format!("it shows the pinned certificate, but did not prove that it is its own ({why})")
                }
                _ => format!(
                    "it shows the pinned certificate, with which TLS cannot begin ({why}): one of X.509 version 1 needs TLS 1.3"
                ),
            }
        }
        (Some(Error::InvalidCertificate(_)), Some(seen)) if address.is_pinned() => format!(
            "its certificate is not the pinned one: it shows SHA-256 {seen}. If whoever runs the server says that this is its \
             new certificate, write that behind #sha256="
        ),
        (Some(Error::InvalidCertificate(why)), Some(seen)) => format!(
            "its certificate is not trusted ({why}), as is usual where Electrum servers sign their own: it shows SHA-256 {seen}. \
             If whoever runs the server says that this is its certificate, write ssl://HOST:PORT#sha256={seen}"
        ),
        (Some(Error::AlertReceived(alert)), _) => format!("it refused TLS ({alert:?})"),
        (Some(Error::InvalidMessage(_)), _) => NO_TLS.to_owned(),
        (Some(other), _) => format!("TLS failed: {other}"),
        (None, _) if error.kind() == io::ErrorKind::UnexpectedEof => NO_TLS.to_owned(),
        (None, _) => return error,
    };
    io::Error::other(text)
}

/// The error for a server that answers TLS with something else.
const NO_TLS: &str = "it does not speak TLS there: a server without TLS is tcp://HOST:PORT";

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::time::Duration;

    use crate::ondemand::{HttpRequest, TransportError};
    use ring::rand::SystemRandom;
    use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};
    use rustls::crypto::ring::{default_provider, sign::any_ecdsa_type};
    use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
    use rustls::sign::{CertifiedKey, SingleCertAndKey};
    use rustls::version::{TLS12, TLS13};
    use rustls::{ServerConfig, ServerConnection, SupportedProtocolVersion};

    use super::*;
    use crate::lines::Lines;

    fn der(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
        let content = parts.concat();
        let length = u16::try_from(content.len()).unwrap().to_be_bytes();
        let head = match length {
            [0, short @ ..=0x7f] => vec![tag, short],
            [0, byte] => vec![tag, 0x81, byte],
            [high, low] => vec![tag, 0x82, high, low],
        };
        [head, content].concat()
    }

    /// A self-signed certificate of X.509 version 3 (`third`) or 1, and its key.
    fn certificate(third: bool) -> (Vec<u8>, Vec<u8>) {
        let random = SystemRandom::new();
        let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, key.as_ref(), &random).unwrap();
        let sequence = |parts: &[&[u8]]| der(0x30, parts);
        let object = |hex: &str| der(0x06, &[&hex::decode(hex).unwrap()]);
        let algorithm = sequence(&[&object("2a8648ce3d040302")]);
        let name = sequence(&[&der(
            0x31,
            &[&sequence(&[&object("550403"), &der(0x0c, &[b"electrum"])])],
        )]);
        let validity = sequence(&[&der(0x17, &[b"200101000000Z"]), &der(0x17, &[b"400101000000Z"])]);
        let curve = sequence(&[&object("2a8648ce3d0201"), &object("2a8648ce3d030107")]);
        let public = sequence(&[&curve, &der(0x03, &[&[0], pair.public_key().as_ref()])]);
        let version = if third {
            der(0xa0, &[&der(0x02, &[&[2]])])
        } else {
            Vec::new()
        };
        let signed = sequence(&[
            &version,
            &der(0x02, &[&[1]]),
            &algorithm,
            &name,
            &validity,
            &name,
            &public,
        ]);
        let signature = pair.sign(&random, &signed).unwrap();
        let whole = sequence(&[&signed, &algorithm, &der(0x03, &[&[0], signature.as_ref()])]);
        (whole, key.as_ref().to_vec())
    }

    /// Serves connections on a free port until the test ends.
    fn serve(each: impl Fn(TcpStream) + Send + 'static) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let place = listener.local_addr().unwrap().to_string();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                each(stream.unwrap());
            }
        });
        place
    }

    /// A server that answers two lines with two lines, over TLS.
    fn electrum(certificate: &[u8], key: &[u8], version: &'static SupportedProtocolVersion) -> String {
        let key = any_ecdsa_type(&PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.to_vec()))).unwrap();
        let certified = CertifiedKey::new(vec![CertificateDer::from(certificate.to_vec())], key);
        let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_protocol_versions(&[version])
            .unwrap()
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(SingleCertAndKey::from(certified)));
        let config = Arc::new(config);
        serve(move |stream| {
            let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut stream = StreamOwned::new(connection, stream);
            let mut read = [0; 8];
            if stream.read_exact(&mut read).is_ok() {
                assert_eq!(&read, b"one\ntwo\n");
                stream.write_all(b"1\n2\n").unwrap();
                stream.flush().unwrap();
            }
        })
    }

    fn asked(lines: &Lines, url: String, seconds: u64) -> Result<Vec<u8>, TransportError> {
        let mut request = HttpRequest::get(url, Duration::from_secs(seconds));
        request.body = Some("one\ntwo".to_owned());
        lines.ask(&request).map(|answer| answer.body)
    }

    /// A client with one additional root, since the system may have none.
    fn rooted() -> Lines {
        let lines = Lines::default();
        let own = CertificateDer::from(certificate(true).0);
        let roots = || Verifier::new_with_extra_roots([own], Arc::new(default_provider()));
        lines.tls.roots(roots).unwrap();
        lines
    }

    fn refused(lines: &Lines, url: String) -> String {
        match asked(lines, url, 30) {
            Err(TransportError::Unreachable(why)) => why,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn one_certificate_is_believed_and_no_other() {
        let lines = rooted();
        for (third, version) in [(true, &TLS13), (true, &TLS12), (false, &TLS13)] {
            let (own, key) = certificate(third);
            let place = electrum(&own, &key, version);
            let pin = hex::encode(Sha256::digest(&own));
            for url in [
                format!("ssl://{place}#sha256={pin}"),
                format!("tls://{place}#sha256={}", pin.to_uppercase()),
            ] {
                assert_eq!(asked(&lines, url.clone(), 30), Ok(b"1\n2\n".to_vec()));
                let address = Address::parse(&url).unwrap().unwrap();
                assert_eq!(lines.tls.fingerprint(&address), Some(pin.clone()));
            }
            let other = hex::encode([7; 32]);
            let wrong = refused(&lines, format!("ssl://{place}#sha256={other}"));
            assert!(
                wrong.contains("not the pinned one") && wrong.contains(&pin),
                "{wrong}"
            );
            let unknown = refused(&lines, format!("ssl://{place}"));
            assert!(
                unknown.contains("not trusted") && unknown.contains(&format!("#sha256={pin}")),
                "{unknown}"
            );
            // A server with the certificate but without its key is an impostor.
            let thief = electrum(&own, &certificate(third).1, version);
            let stolen = refused(&lines, format!("ssl://{thief}#sha256={pin}"));
            assert!(
                stolen.contains("did not prove") && !stolen.contains("#sha256="),
                "{stolen}"
            );
        }
    }

    #[test]
    fn a_pinned_certificate_of_version_1_needs_tls_1_3() {
        let (own, key) = certificate(false);
        let place = electrum(&own, &key, &TLS12);
        let pin = hex::encode(Sha256::digest(&own));
        let why = refused(&Lines::default(), format!("ssl://{place}#sha256={pin}"));
        assert!(
            why.contains("version 1 needs TLS 1.3") && !why.contains("prove"),
            "{why}"
        );
    }

    #[test]
    fn a_system_without_roots_is_told() {
        let none = || {
            Err(Error::General(
                "No CA certificates were loaded from the system".to_owned(),
            ))
        };
        let why = Tls::default().roots(none).unwrap_err().to_string();
        assert!(
            why.contains("No CA certificates") && why.contains("ca-certificates"),
            "{why}"
        );
        assert!(rooted().tls.roots(none).is_ok());
    }

    #[test]
    fn a_server_without_tls_is_told() {
        let lines = rooted();
        let answering = serve(|mut stream| {
            let _ = stream.write_all(b"{\"jsonrpc\": \"2.0\", \"error\": {\"code\": -32700}}\n");
            let _ = stream.read_to_end(&mut Vec::new());
        });
        let closing = serve(|mut stream| {
            let _ = stream.read(&mut [0; 1024]);
        });
        for place in [answering, closing] {
            let why = refused(&lines, format!("ssl://{place}"));
            assert!(why.contains("tcp://"), "{why}");
        }
        let silent = serve(|mut stream| {
            let _ = stream.read_to_end(&mut Vec::new());
        });
        assert_eq!(
            asked(&lines, format!("ssl://{silent}"), 1),
            Err(TransportError::TimedOut)
        );
    }

    #[test]
    fn addresses_are_read_strictly() {
        let pin = "ab".repeat(32);
        let colons = pin
            .as_bytes()
            .chunks(2)
            .map(|pair| std::str::from_utf8(pair).unwrap());
        let colons = colons.collect::<Vec<_>>().join(":");
        for (url, place, pinned) in [
            (
                "ssl://electrum.example:50002".to_owned(),
                "electrum.example:50002",
                false,
            ),
            (
                format!("tls://10.0.0.1:50002#sha256={pin}"),
                "10.0.0.1:50002",
                true,
            ),
            (format!("ssl://[::1]:50002#sha256={colons}"), "[::1]:50002", true),
        ] {
            let address = Address::parse(&url).unwrap().unwrap();
            assert_eq!(
                (address.host_and_port.as_str(), address.is_pinned()),
                (place, pinned)
            );
        }
        for url in [
            "ssl://",
            "ssl://host",
            "ssl://host:port",
            "ssl://:50002",
            "ssl://ho st:50002",
            "ssl://host:50002/path",
            "ssl://host:50002#",
            "ssl://host:50002#sha256=",
            "ssl://host:50002#sha256=abcd",
            "ssl://host:50002#sha1=abcd",
            "ssl://user:pass@host:50002",
        ] {
            let error = Address::parse(url).unwrap_err().to_string();
            assert!(!error.contains("pass"), "{url}: {error}");
        }
        assert_eq!(Address::parse("tcp://host:50001").unwrap(), None);
    }

    #[test]
    fn damaged_certificates_have_no_key() {
        let (whole, _) = certificate(true);
        assert!(public_key(&whole).is_some());
        for length in 0..whole.len() {
            assert_eq!(public_key(&whole[..length]), None);
        }
        let mut odd = whole;
        for place in 0..odd.len().min(120) {
            odd[place] ^= 0x80;
            let _ = public_key(&odd);
            odd[place] ^= 0x80;
        }
    }
}
