//! Searches a picture for a machine-readable zone before any other text is read, in any direction and among clutter.
//!
//! Places are chosen by the form of their rows. Those are read at once of which our own network is certain by one row, and
//! then the likeliest others; if none of them is a valid zone, the picture is detected again at a larger scale around the likeliest. The
//! work is bounded by counts. This module never reads characters itself.

use imaging::{Picture, Point, Pyramid};

use crate::detection;
use crate::locate::{self, RowGroup};
use crate::ocr::{Ocr, OcrError, Quad, TextRegion};
use crate::zone::{self, ZoneReading};
use crate::zone_place::Place;

/// At most so many places of one detection are read.
const MAX_READ: usize = 2;
/// Places of which the network is less certain are not read.
const LEAST_CERTAINTY: f32 = 0.55;
/// From this certainty on, a place is a zone's, perhaps a part of it.
const SURE: f32 = 0.85;
/// Places of which the network is so certain are read before other places are looked at.
const CERTAIN: f32 = 0.95;
/// A picture is detected again in tiles, of this share of its sides, that begin at its four corners.
const TILE: f32 = 0.62;
/// Around places that may be parts of zones, at most so many parts of the picture are detected again. They reach so far
/// from the place's middle, in lengths of its rows.
const MAX_CLOSER: usize = 2;
const REACH: f32 = 1.0;

/// Finds and reads the valid zone in a picture, whose rows are returned in `working`'s pixels. `working` is the
/// picture, perhaps reduced, and `regions` is its text.
///
/// # Errors
/// Fails when a model does not run.
pub(crate) fn find(
    ocr: &Ocr,
    pyramid: &Pyramid<'_>,
    working: &Picture,
    regions: &[TextRegion],
) -> Result<Option<ZoneReading>, OcrError> {
    let mut search = Search {
        ocr,
        pyramid,
        scale: pyramid.whole().width as f32 / working.width as f32,
        sure: Vec::new(),
        found: None,
    };
    search.read(regions)?;
    let side = working.width.max(working.height) as f32;
    if search.found.is_none() && search.sure.is_empty() && detection::is_worth_enlarging(working, TILE * side)
    {
        for tile in tiles(working) {
            if search.found.is_none() && regions.iter().any(|region| is_in(tile, region)) {
                search.read(&detection::detect_in(ocr, working, tile)?.unwrap_or_default())?;
            }
        }
    }
    for _ in 0..MAX_CLOSER {
        if search.found.as_ref().is_some_and(|zone| zone.mrz.accepted) {
            break;
        }
        search
            .sure
            .sort_by(|a, b| a.certainty().total_cmp(&b.certainty()));
        let Some(place) = search.sure.pop() else {
            break;
        };
        let rows: Vec<Quad> = place.rows.iter().map(|row| search.reduced(row)).collect();
        let area = locate::around(&rows, REACH);
        if detection::is_worth_enlarging(working, area[2].max(area[3])) {
            search.read(&detection::detect_in(ocr, working, area)?.unwrap_or_default())?;
        }
    }
    Ok(search.found)
}

/// Overlapping parts of a picture: x, y, width, height.
fn tiles(picture: &Picture) -> [[f32; 4]; 4] {
    let (width, height) = (picture.width as f32, picture.height as f32);
    let (w, h) = (TILE * width, TILE * height);
    [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]].map(|[x, y]| [x * (width - w), y * (height - h), w, h])
}

fn is_in([x, y, w, h]: [f32; 4], region: &TextRegion) -> bool {
    let centre = region.quad.centre();
    (x..x + w).contains(&centre.x) && (y..y + h).contains(&centre.y)
}

struct Search<'a> {
    ocr: &'a Ocr,
    pyramid: &'a Pyramid<'a>,
    /// The picture's size by the working picture's.
    scale: f32,
    /// Places that are surely zones, but gave no accepted reading.
    sure: Vec<Place>,
    /// The best valid zone so far.
    found: Option<ZoneReading>,
}

impl Search<'_> {
    /// Reads the likeliest places of a detection: those of which the network is certain as soon as they are seen, and
    /// then the likeliest of the others.
    fn read(&mut self, regions: &[TextRegion]) -> Result<(), OcrError> {
        let mut left = MAX_READ;
        let mut others = Vec::new();
        for group in locate::row_groups(regions) {
            let group = RowGroup {
                rows: group.rows.iter().map(|row| self.enlarged(row)).collect(),
                longest: group.longest,
            };
            let place = Place::of(self.ocr, self.pyramid, &group)?;
            if place.certainty() < CERTAIN || left == 0 {
                others.push(place);
                continue;
            }
            left -= 1;
            if self.read_place(place)? {
                return Ok(());
            }
        }
        others.sort_by(|a, b| b.certainty().total_cmp(&a.certainty()));
        for place in others.into_iter().take(left) {
            if place.certainty() < LEAST_CERTAINTY || self.read_place(place)? {
                break;
            }
        }
        Ok(())
    }

    /// Reads a place, and returns whether its zone is accepted.
    fn read_place(&mut self, place: Place) -> Result<bool, OcrError> {
        let adjusted = place.clone().adjusted(self.ocr, self.pyramid)?;
        let mut zone = zone::read_valid(self.ocr, self.pyramid, &adjusted.rows, adjusted.pitch())?;
        if !zone.as_ref().is_some_and(|zone| zone.mrz.accepted) && adjusted.rows != place.rows {
            let other = zone::read_valid(self.ocr, self.pyramid, &place.rows, None)?;
            zone = match (zone, other) {
                (Some(zone), Some(other)) => Some(zone.or_better(other)),
                (zone, other) => zone.or(other),
            };
        }
        let is_accepted = zone.as_ref().is_some_and(|zone| zone.mrz.accepted);
        if let Some(zone) = zone {
            let scale = self.scale;
            let zone = zone.map(|p| Point::new(p.x / scale, p.y / scale));
            self.found = Some(match self.found.take() {
                Some(found) => found.or_better(zone),
                None => zone,
            });
        }
        if !is_accepted && adjusted.certainty() >= SURE {
            self.sure.push(adjusted);
        }
        Ok(is_accepted)
    }

    fn enlarged(&self, row: &Quad) -> Quad {
        row.map(|p| Point::new(p.x * self.scale, p.y * self.scale))
    }

    fn reduced(&self, row: &Quad) -> Quad {
        row.map(|p| Point::new(p.x / self.scale, p.y / self.scale))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_cover_the_picture_and_overlap() {
        let picture = Picture::filled(240, 180, [0; 3]);
        for (x, y) in [(0.0, 0.0), (120.0, 90.0), (239.0, 0.0), (100.0, 179.0)] {
            let region = TextRegion {
                quad: Quad::around(Point::new(x, y), Point::new(1.0, 0.0), 0.0, 0.0),
                score: 1.0,
            };
            let tiles = tiles(&picture)
                .into_iter()
                .filter(|tile| is_in(*tile, &region))
                .count();
            assert!(
                tiles >= 1 && ((x, y) != (120.0, 90.0) || tiles == 4),
                "{x},{y}: {tiles}"
            );
        }
    }
}
