//! The sanctions lists that a form offers. It refuses nothing; saving does.

use service::App;

/// A sanctions list to choose.
pub(crate) struct ListBox {
    /// Its name.
    pub(crate) name: String,
    /// Whether it is chosen.
    pub(crate) is_chosen: bool,
    /// Whether it is screened only if it is chosen.
    pub(crate) needs_choice: bool,
}

/// The active lists, and chosen ones that are not active now: they remain in the form, so that saving does not drop
/// them.
pub(crate) fn list_boxes(app: &App, chosen: &[String]) -> Vec<ListBox> {
    let known = app.lists.known().unwrap_or_default();
    let inactive = chosen
        .iter()
        .filter(|name| !known.iter().any(|(active, _)| active == *name))
        .map(|name| (name.clone(), false));
    let all: Vec<(String, bool)> = known.iter().cloned().chain(inactive).collect();
    all.into_iter()
        .map(|(name, needs_choice)| ListBox {
            is_chosen: chosen.contains(&name),
            name,
            needs_choice,
        })
        .collect()
}
