//! Finding and rectifying the document in a picture.
