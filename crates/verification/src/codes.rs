//! The failure codes of contract §2.5 in order of precedence (`docs/decisions/0011-one-code-per-object.md`).
//!
//! One table states each code's number, result object, meaning in the contract (sent as `error`), advice and
//! explanation.

use serde::{Serialize, Serializer};

/// The result object that a code belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ResultObject {
    /// `idvResult`.
    Idv,
    /// `documentResult`.
    Document,
    /// `ocrResult`.
    Ocr,
    /// `minimumAgeResult`.
    MinimumAge,
    /// `kycResults`.
    Kyc,
}

impl ResultObject {
    /// The object's key in a response.
    pub fn as_str(self) -> &'static str {
        match self {
            ResultObject::Idv => "idvResult",
            ResultObject::Document => "documentResult",
            ResultObject::Ocr => "ocrResult",
            ResultObject::MinimumAge => "minimumAgeResult",
            ResultObject::Kyc => "kycResults",
        }
    }
}

/// One row of the table.
#[derive(Debug, PartialEq, Eq)]
pub struct CodeInfo {
    /// The code's number.
    pub number: u16,
    /// The result object that reports it.
    pub object: ResultObject,
    /// The contract's text, sent as `error`.
    pub meaning: &'static str,
    /// What the applicant, or a person who helps them, can do about it.
    pub advice: &'static str,
    /// Why the check failed, in plain words for a reviewer.
    pub why: &'static str,
}

macro_rules! codes {
    ($($name:ident = $number:literal, $object:ident, $meaning:literal, $advice:literal, $why:literal;)*) => {
        /// A failure code. The order of the variants is the order of precedence within a result object.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $(#[doc = concat!(stringify!($number), ": ", $meaning, ".")] $name,)*
        }

        /// Every code with its row, in order of precedence.
        pub static CODES: &[(Code, CodeInfo)] = &[
            $((Code::$name, CodeInfo {
                number: $number, object: ResultObject::$object, meaning: $meaning, advice: $advice, why: $why,
            }),)*
        ];
    };
}

codes! {
    DocumentFileMissing = 2403, Idv, "Required document file missing", "Send every image that the document type needs.", "A picture that the document type needs was not among the files.";
    DocumentCorrupted = 2003, Idv, "Document image invalid or corrupted", "Take the picture again and send the file unchanged; a PDF must open without a password and have at most 10 pages.", "The file could not be opened as a picture: it is damaged, protected, or not what its name says.";
    DocumentUnprocessable = 2002, Idv, "Unable to process document image", "Take a sharp, evenly lit picture of the whole document.", "The picture opened, but the document on it could not be processed: it is too small, blurred or dark, or its portrait is too poor to compare.";
    DocumentTypeNotSupported = 2404, Idv, "Document type not supported", "Send the document that was declared, in the field for its type.", "The picture certainly shows something other than the declared document, or no document at all.";
    NoFaceInDocument = 2001, Idv, "No face detected in document image", "Send the side with the photo as the front, without glare on the photo.", "No face was found on the side that should show the holder's photo.";
    SelfieRequired = 2405, Idv, "Selfie image required", "Send a selfie together with the document.", "The Flow compares the document with a selfie, and none was sent.";
    SelfieCorrupted = 2103, Idv, "Selfie invalid or corrupted", "Take the selfie again and send the file unchanged.", "The selfie's file could not be opened as a picture.";
    SelfieUnprocessable = 2102, Idv, "Unable to process selfie", "Take the selfie in even light, close enough, looking into the camera.", "A face is there, but its quality does not allow a comparison.";
    NoFaceInSelfie = 2101, Idv, "No face detected in selfie", "Keep the whole face in the picture, uncovered.", "The selfie opened, but no face was found in it.";
    MultipleFaces = 2203, Idv, "Multiple faces detected", "Be alone in the picture.", "The selfie shows more than one significant face, so it is not certain who is applying.";
    LivenessIncomplete = 2105, Idv, "Unable to complete liveness check", "Follow the instructions of the camera page in good light.", "The check could not determine whether a live person was in front of the camera, or the liveness challenge was not passed.";
    NotLive = 2104, Idv, "Selfie does not appear to be a live person", "Take the selfie directly with the camera, not from a screen or a print.", "The selfie shows signs of being a picture of a picture: a screen, a print, or the document's own portrait.";
    FaceMismatchDocument = 2204, Idv, "Selfie does not match photo on submitted identity document", "Use your own document.", "The selfie and the portrait on the document are too different: the similarity is below the review threshold.";
    FaceMismatchPassport = 2201, Idv, "Selfie does not match document photo", "Use your own passport.", "The selfie and the portrait on the passport are too different: the similarity is below the review threshold.";
    SimilarityBelowThreshold = 2202, Idv, "Face similarity below threshold", "Take the selfie again, looking straight into the camera, as on the document.", "The similarity is between the Flow's review threshold and its match threshold, so a match is neither certain nor excluded.";
    UserIdExists = 2306, Idv, "User ID already exists for this merchant", "The user ID belongs to another person: use the applicant's own.", "This external user ID belongs to another person, whose face is proven.";
    UserAlreadyRegistered = 2307, Idv, "User already registered with this merchant", "The person is registered already: look the applicant up instead.", "This face is registered in the same group already.";
    NoMrz = 2511, Document, "No MRZ detected on passport", "Show the whole page or side with the machine-readable lines.", "This document should carry machine-readable lines, and none were found.";
    NoBarcode = 2512, Document, "No barcode detected on driver's license", "Show the whole back with its barcode.", "This licence should carry a PDF417 barcode, and none was found.";
    MrzUnreadable = 2501, Document, "Failed to extract MRZ from passport", "Take a sharp picture without glare on the machine-readable lines.", "Machine-readable lines were found, but they could not be read, or their check digits are incorrect.";
    BarcodeUnverified = 2507, Document, "Failed to verify driver's license barcode data", "Take a sharp picture of the back, the barcode filling its width.", "A barcode was found, but could not be decoded, or lacks the data that a licence must contain.";
    IssuerMismatch = 2508, Document, "Detected issuing country differs from declared document country", "Declare the country that issued the document.", "The document names a different issuing country than the declared one.";
    LicenceSidesMismatch = 2505, Document, "Driver's license front/back mismatch", "Send both sides of one and the same licence.", "Front and back of the licence contradict each other.";
    CardSidesMismatch = 2506, Document, "ID card front/back mismatch", "Send both sides of one and the same card.", "Front and back of the card contradict each other.";
    DocumentExpired = 2509, Document, "Document expired", "Use a document that is still valid.", "The date of expiry on the document has passed.";
    MrzDataMismatch = 2502, Ocr, "MRZ data does not match submitted user information", "Enter names and dates exactly as on the document.", "The machine-readable zone or the barcode differs from the submitted data.";
    OcrFieldsMismatch = 2504, Ocr, "One or more OCR fields do not match metadata", "Enter the data exactly as on the document.", "The printed text differs from the submitted data.";
    OcrDataMismatch = 2503, Ocr, "OCR data does not match submitted metadata", "Take a sharper picture, so that the text can be read.", "No text could be read on the document that could be compared with the submitted data.";
    BirthDateUnknown = 2703, MinimumAge, "Date of birth could not be extracted from document", "Send a document that shows the full date of birth, in a sharp picture.", "The Flow has an age limit, and the document's date of birth could not be read in full.";
    AgeRequirement = 2701, MinimumAge, "Applicant does not meet age requirements", "There is no remedy: the age is outside the required range.", "The age by the document's date of birth lies outside the Flow's limits.";
    SanctionsMatch = 2702, Kyc, "Applicant flagged by sanctions screening", "A reviewer must compare the hit with the applicant.", "A sanctions list has an entry whose name and data are similar enough to the applicant's.";
}

impl Code {
    /// The code with this number.
    pub fn from_number(number: u16) -> Option<Self> {
        CODES
            .iter()
            .find(|(_, info)| info.number == number)
            .map(|(code, _)| *code)
    }

    /// The code's row in the table.
    pub fn info(self) -> &'static CodeInfo {
        &CODES[self as usize].1
    }

    /// The code's number.
    pub fn number(self) -> u16 {
        self.info().number
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u16(self.number())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_the_contracts() {
        assert_eq!(CODES.len(), 31);
        for (index, (code, info)) in CODES.iter().enumerate() {
            assert_eq!(*code as usize, index);
            assert_eq!(Code::from_number(info.number), Some(*code));
            assert_eq!(code.info(), info);
            assert!(!info.meaning.ends_with('.') && info.advice.ends_with('.') && info.why.ends_with('.'));
        }
        assert_eq!(Code::from_number(2000), None);
    }

    #[test]
    fn precedence_is_as_decided() {
        let order = |object| {
            CODES
                .iter()
                .filter(move |(_, i)| i.object == object)
                .map(|(_, i)| i.number)
                .collect::<Vec<_>>()
        };
        let decided_idv = [
            2003, 2002, 2404, 2001, 2103, 2102, 2101, 2203, 2105, 2104, 2204, 2201, 2202, 2306, 2307,
        ];
        let idv: Vec<_> = order(ResultObject::Idv)
            .into_iter()
            .filter(|n| ![2403, 2405].contains(n))
            .collect();
        assert_eq!(idv, decided_idv);
        assert_eq!(
            order(ResultObject::Document),
            [2511, 2512, 2501, 2507, 2508, 2505, 2506, 2509]
        );
        assert_eq!(order(ResultObject::Ocr), [2502, 2504, 2503]);
        assert_eq!(order(ResultObject::MinimumAge), [2703, 2701]);
        assert_eq!(order(ResultObject::Kyc), [2702]);
    }
}
