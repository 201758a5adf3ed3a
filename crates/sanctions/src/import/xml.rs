//! A pull reader over quick-xml that works in bounded memory.
//!
//! It refuses input that no list has: deeply nested elements, single events of megabytes, and custom
//! entities. Document types are skipped, so no entity expands.

use std::cell::Cell;
use std::io::{BufRead, Read};
use std::rc::Rc;

use quick_xml::Reader;
use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event};

use super::input::MAX_RECORD;

/// Maximum nesting; lists nest about ten deep.
const MAX_DEPTH: usize = 64;

/// One step of reading a document.
pub(crate) enum Step {
    /// An element opened; its name and attributes are in the walker.
    Open,
    /// An element closed; its name and text are in the walker.
    Close,
    /// The document ended.
    End,
}

/// Counts the bytes of one event and fails above the limit.
struct Limited<R> {
    inner: R,
    used: Rc<Cell<usize>>,
}

impl<R: BufRead> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.inner.read(buffer)
    }
}

impl<R: BufRead> BufRead for Limited<R> {
    fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
        if self.used.get() > MAX_RECORD {
            return Err(std::io::Error::other("a single item of megabytes"));
        }
        self.inner.fill_buf()
    }

    fn consume(&mut self, len: usize) {
        self.used.set(self.used.get() + len);
        self.inner.consume(len);
    }
}

/// Passes UTF-8 through and converts other bytes from Latin-1, which mirrors mix in regardless of the
/// declaration.
struct Utf8<R> {
    inner: R,
    /// An incomplete character that the next bytes complete.
    pending: Vec<u8>,
    ready: Vec<u8>,
    at: usize,
}

impl<R: BufRead> Utf8<R> {
    fn refill(&mut self) -> std::io::Result<()> {
        while self.at == self.ready.len() {
            self.ready.clear();
            self.at = 0;
            let more = self.inner.fill_buf()?;
            let (len, last) = (more.len(), more.is_empty());
            self.pending.extend_from_slice(more);
            self.inner.consume(len);
            let mut rest = &self.pending[..];
            while let Err(error) = std::str::from_utf8(rest) {
                let (good, bad) = rest.split_at(error.valid_up_to());
                self.ready.extend_from_slice(good);
                rest = bad;
                if error.error_len().is_none() && !last {
                    break;
                }
                let mut latin = [0; 2];
                self.ready
                    .extend_from_slice(char::from(bad[0]).encode_utf8(&mut latin).as_bytes());
                rest = &bad[1..];
            }
            let kept = if std::str::from_utf8(rest).is_ok() {
                self.ready.extend_from_slice(rest);
                Vec::new()
            } else {
                rest.to_vec()
            };
            self.pending = kept;
            if last {
                break;
            }
        }
        Ok(())
    }
}

impl<R: BufRead> Read for Utf8<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let len = self.fill_buf()?.read(buffer)?;
        self.consume(len);
        Ok(len)
    }
}

impl<R: BufRead> BufRead for Utf8<R> {
    fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
        self.refill()?;
        Ok(&self.ready[self.at..])
    }

    fn consume(&mut self, len: usize) {
        self.at += len;
    }
}

/// Reads a document element by element.
pub(crate) struct Walker<R: BufRead> {
    reader: Reader<Limited<Utf8<R>>>,
    used: Rc<Cell<usize>>,
    buffer: Vec<u8>,
    /// Set after the opening step of an empty element, whose closing is the next step.
    close_pending: bool,
    depth: usize,
    /// Local name of the element that just opened or closed.
    pub(crate) name: String,
    /// Attributes of the element that just opened.
    pub(crate) attributes: Vec<(String, String)>,
    /// Trimmed text directly before the closing tag.
    pub(crate) text: String,
}

impl<R: BufRead> Walker<R> {
    pub(crate) fn new(inner: R) -> Walker<R> {
        let used = Rc::new(Cell::new(0));
        let inner = Utf8 {
            inner,
            pending: Vec::new(),
            ready: Vec::new(),
            at: 0,
        };
        let mut reader = Reader::from_reader(Limited {
            inner,
            used: Rc::clone(&used),
        });
        reader.config_mut().check_end_names = true;
        Walker {
            reader,
            used,
            buffer: Vec::new(),
            close_pending: false,
            depth: 0,
            name: String::new(),
            attributes: Vec::new(),
            text: String::new(),
        }
    }

    /// The value of an attribute of the element that just opened.
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes
            .iter()
            .find(|(n, _)| n == name)
            .map(|(_, v)| v.as_str())
    }

    /// The next step, or the reason why reading cannot continue.
    pub(crate) fn step(&mut self) -> Result<Step, String> {
        if self.close_pending {
            self.close_pending = false;
            self.depth -= 1;
            self.text.clear();
            return Ok(Step::Close);
        }
        loop {
            self.buffer.clear();
            self.used.set(0);
            let event = self
                .reader
                .read_event_into(&mut self.buffer)
                .map_err(|e| reason(&e))?;
            match event {
                Event::Start(start) => {
                    read_tag(&start, &mut self.name, &mut self.attributes)?;
                    self.text.clear();
                    self.depth += 1;
                    if self.depth > MAX_DEPTH {
                        return Err("elements nested too deep".into());
                    }
                    return Ok(Step::Open);
                }
                Event::Empty(start) => {
                    read_tag(&start, &mut self.name, &mut self.attributes)?;
                    self.text.clear();
                    self.depth += 1;
                    self.close_pending = true;
                    return Ok(Step::Open);
                }
                Event::End(end) => {
                    self.name.clear();
                    self.name.push_str(end.local_name().as_ref());
                    self.depth = self.depth.saturating_sub(1);
                    let trimmed = self.text.trim();
                    if trimmed.len() != self.text.len() {
                        self.text = trimmed.to_owned();
                    }
                    return Ok(Step::Close);
                }
                Event::Text(text) => push(&mut self.text, &text.xml_content(XmlVersion::Implicit1_0))?,
                Event::CData(text) => push(&mut self.text, &text.xml_content(XmlVersion::Implicit1_0))?,
                Event::GeneralRef(reference) => {
                    let name: &str = reference.as_ref();
                    let c = match name {
                        "amp" => Some('&'),
                        "lt" => Some('<'),
                        "gt" => Some('>'),
                        "quot" => Some('"'),
                        "apos" => Some('\''),
                        _ => reference
                            .resolve_char_ref()
                            .map_err(|_| "a bad character reference")?,
                    };
                    self.text.push(c.ok_or("an entity that XML does not define")?);
                }
                Event::Eof if self.depth > 0 => return Err("the file breaks off".into()),
                Event::Eof => return Ok(Step::End),
                Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
            }
        }
    }
}

fn push(text: &mut String, more: &str) -> Result<(), String> {
    if text.len() + more.len() > MAX_RECORD {
        return Err("a single text of megabytes".into());
    }
    text.push_str(more);
    Ok(())
}

fn read_tag(
    start: &BytesStart<'_>,
    name: &mut String,
    attributes: &mut Vec<(String, String)>,
) -> Result<(), String> {
    name.clear();
    name.push_str(start.local_name().as_ref());
    attributes.clear();
    for attribute in start.attributes().with_checks(false) {
        let attribute = attribute.map_err(|_| "a bad attribute")?;
        let value = attribute
            .normalized_value(XmlVersion::Implicit1_0)
            .map_err(|_| "a bad attribute value")?;
        attributes.push((attribute.key.as_ref().to_owned(), value.into_owned()));
        if attributes.len() > 64 {
            return Err("too many attributes".into());
        }
    }
    Ok(())
}

/// The kind of an error without its content, which may be personal data.
fn reason(error: &quick_xml::Error) -> String {
    use quick_xml::Error;
    match error {
        Error::Io(e) => format!("cannot be read: {e}"),
        Error::Syntax(_) => "not well formed".into(),
        Error::IllFormed(_) => "tags do not match".into(),
        Error::InvalidAttr(_) => "a bad attribute".into(),
        Error::Encoding(_) => "not UTF-8".into(),
        Error::Escape(_) => "a bad reference".into(),
        _ => "not readable as XML".into(),
    }
}
