//! North American driving licences and ID cards: barcode payload to named data.
