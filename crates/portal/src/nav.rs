//! The portal's side bar. Pages that the reader may not open are omitted.

use service::permissions::Action;

use super::session::Member;

/// A group of entries.
#[derive(Clone, Debug)]
pub struct Group {
    /// The text key of the heading.
    pub title: &'static str,
    /// The entries.
    pub items: Vec<Item>,
}

/// An entry of the side bar.
#[derive(Clone, Debug)]
pub struct Item {
    /// The page's path.
    pub path: &'static str,
    /// The text key of the name.
    pub title: &'static str,
    /// The icon's name.
    pub icon: &'static str,
    /// Whether the reader is on this page.
    pub current: bool,
}

type NavItem = (&'static str, &'static str, &'static str, Action);

const GROUPS: &[(&str, &[NavItem])] = &[
    (
        "nav.work",
        &[
            ("/portal", "nav.dashboard", "home", Action::ViewDashboard),
            ("/portal/queue", "nav.queue", "inbox", Action::ViewQueue),
            ("/portal/alerts", "nav.alerts", "alert", Action::ViewQueue),
            ("/portal/second", "nav.second", "check", Action::SecondApproval),
            ("/portal/people", "nav.people", "people", Action::ViewApplicant),
            ("/portal/screening", "nav.screening", "search", Action::Screen),
            ("/portal/monitoring", "nav.monitoring", "coins", Action::Screen),
        ],
    ),
    (
        "nav.setup",
        &[
            ("/portal/flows", "nav.flows", "flow", Action::ViewFlows),
            ("/portal/groups", "nav.groups", "folder", Action::ViewFlows),
            ("/portal/links", "nav.links", "link", Action::MakeLinks),
            ("/portal/keys", "nav.keys", "key", Action::ViewKeys),
            ("/portal/webhooks", "nav.webhooks", "bell", Action::ManageWebhooks),
        ],
    ),
    (
        "nav.insight",
        &[
            ("/portal/insight", "nav.figures", "chart", Action::ViewInsight),
            ("/portal/api-log", "nav.apilog", "list", Action::ViewApiLog),
            ("/portal/audit", "nav.audit", "shield", Action::ViewAudit),
        ],
    ),
    (
        "nav.company",
        &[
            ("/portal/branding", "nav.branding", "brush", Action::ManageCompany),
            ("/portal/application", "nav.application", "check", Action::Apply),
            ("/portal/staff", "nav.staff", "person", Action::ManageStaff),
            ("/portal/privacy", "nav.privacy", "lock", Action::ManageRetention),
        ],
    ),
    (
        "nav.operator",
        &[
            (
                "/portal/operator",
                "nav.operator.overview",
                "server",
                Action::Operate,
            ),
            (
                "/portal/operator/merchants",
                "nav.operator.merchants",
                "building",
                Action::Operate,
            ),
            (
                "/portal/operator/sign-ups",
                "nav.operator.sign_ups",
                "inbox",
                Action::Operate,
            ),
            (
                "/portal/operator/lists",
                "nav.operator.lists",
                "list",
                Action::Operate,
            ),
            (
                "/portal/operator/jobs",
                "nav.operator.jobs",
                "clock",
                Action::Operate,
            ),
            (
                "/portal/operator/operators",
                "nav.operator.operators",
                "people",
                Action::Operate,
            ),
            (
                "/portal/operator/audit",
                "nav.operator.audit",
                "shield",
                Action::Operate,
            ),
        ],
    ),
];

/// The side bar for a reader of the page at `here`.
pub fn groups(member: Option<&Member>, here: &str) -> Vec<Group> {
    let Some(member) = member else { return Vec::new() };
    // Applicant pages belong to the queue, and invitations to the links.
    let here = if here.starts_with("/portal/applicants/") {
        "/portal/queue"
    } else if here.starts_with("/portal/invitations") {
        "/portal/links"
    } else {
        here
    };
    let is_account = |action: Action| matches!(action.who(), service::permissions::Grantee::Roles(_));
    let here = here.replace("/portal/applicants/", "/portal/queue/");
    let best = GROUPS
        .iter()
        .flat_map(|(_, places)| places.iter())
        .map(|(path, ..)| *path)
        .filter(|path| {
            here == *path
                || *path != "/portal" && here.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'))
        })
        .max_by_key(|path| path.len());
    GROUPS
        .iter()
        .map(|(title, places)| Group {
            title,
            items: places
                .iter()
                .filter(|(_, _, _, action)| {
                    member.may(*action) && (member.merchant.is_some() || !is_account(*action))
                })
                .map(|(path, title, icon, _)| Item {
                    path,
                    title,
                    icon,
                    current: best == Some(*path),
                })
                .collect(),
        })
        .filter(|group| !group.items.is_empty())
        .collect()
}
