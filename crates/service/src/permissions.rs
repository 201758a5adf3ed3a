//! Who may do what in the portal: one table, pure. It looks at roles only; whose data it is, is the store's scope.

/// A member's part in a merchant account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Everything, and nobody can take it away but another owner.
    Owner,
    /// Everything but what only people in charge of personal data do.
    Admin,
    /// Decides, erases, exports, and sets the rules of verification.
    Compliance,
    /// Decides on applicants.
    Reviewer,
    /// Integrates: keys, webhooks, links, logs without personal data.
    Developer,
    /// Looks, and changes nothing.
    Auditor,
}

use Role::{Admin, Auditor, Compliance, Developer, Owner, Reviewer};

impl Role {
    /// Every role.
    pub const ALL: [Role; 6] = [Owner, Admin, Compliance, Reviewer, Developer, Auditor];

    /// Its name in the store, in addresses and in the texts' keys.
    pub fn as_str(self) -> &'static str {
        match self {
            Owner => "owner",
            Admin => "admin",
            Compliance => "compliance",
            Reviewer => "reviewer",
            Developer => "developer",
            Auditor => "auditor",
        }
    }
}

impl std::str::FromStr for Role {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Role::ALL.into_iter().find(|role| role.as_str() == text).ok_or(())
    }
}

/// Who may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// Anybody, signed in or not.
    Anybody,
    /// Whoever is signed in, in any account or none.
    SignedIn,
    /// Those who keep this installation.
    Operators,
    /// Members of the chosen account with one of these roles.
    Roles(&'static [Role]),
}

macro_rules! actions {
    ($($(#[$doc:meta])* $name:ident => $who:expr,)*) => {
        /// What is done: every route of the portal names one.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Action {
            $($(#[$doc])* $name,)*
        }

        impl Action {
            /// Every action.
            pub const ALL: &'static [Action] = &[$(Action::$name,)*];

            /// Who may.
            pub fn who(self) -> Who {
                match self {
                    $(Action::$name => $who,)*
                }
            }
        }
    };
}

const EVERY_ROLE: Who = Who::Roles(&Role::ALL);
const IN_CHARGE: Who = Who::Roles(&[Owner, Admin]);
const BUILDERS: Who = Who::Roles(&[Owner, Admin, Developer]);
const RULE_MAKERS: Who = Who::Roles(&[Owner, Admin, Compliance]);
const DECIDERS: Who = Who::Roles(&[Owner, Admin, Compliance, Reviewer]);
const SEES_PEOPLE: Who = Who::Roles(&[Owner, Admin, Compliance, Reviewer, Auditor]);
const DATA_OFFICERS: Who = Who::Roles(&[Owner, Compliance]);

actions! {
    /// Signing in, joining by a link.
    Public => Who::Anybody,
    /// One's own account.
    SignedIn => Who::SignedIn,
    /// The operator console.
    Operate => Who::Operators,
    /// Making and dismissing operators.
    ManageOperators => Who::Operators,
    /// The first page.
    ViewDashboard => EVERY_ROLE,
    /// Inviting, roles, taking away access.
    ManageStaff => IN_CHARGE,
    /// The account's profile, branding, countries, origins.
    ManageCompany => IN_CHARGE,
    /// Requiring a second factor of everybody in the account.
    RequireSecondFactor => Who::Roles(&[Owner]),
    /// Asking for live access.
    Apply => Who::Roles(&[Owner]),
    /// API keys and their secrets.
    ViewKeys => BUILDERS,
    /// Looking at Flows and Groups.
    ViewFlows => EVERY_ROLE,
    /// Making and changing Flows.
    EditFlows => Who::Roles(&[Owner, Admin, Compliance, Developer]),
    /// Making and changing Groups.
    EditGroups => Who::Roles(&[Owner, Admin, Compliance, Developer]),
    /// When a Flow's attempts wait for people, and for how many: review policy, four eyes, thresholds.
    ManageRules => RULE_MAKERS,
    /// Hosted links.
    MakeLinks => Who::Roles(&[Owner, Admin, Compliance, Reviewer, Developer]),
    /// Webhooks: secrets, deliveries, tests.
    ManageWebhooks => BUILDERS,
    /// The review queue.
    ViewQueue => SEES_PEOPLE,
    /// A person's data and pictures.
    ViewApplicant => SEES_PEOPLE,
    /// Approving and declining, claims, notes.
    Decide => DECIDERS,
    /// Confirming and rejecting proposals; each kind of act requires a further permission.
    SecondApproval => DECIDERS,
    /// Taking a decision back.
    Reopen => RULE_MAKERS,
    /// The reasons that reviewers are offered.
    ManageReasons => RULE_MAKERS,
    /// "Not this person".
    Suppress => RULE_MAKERS,
    /// Searching names by hand, and looking at what was screened.
    Screen => SEES_PEOPLE,
    /// Screening wallets and transactions by hand: it is stored, and may ask vendors.
    ScreenWallet => DECIDERS,
    /// Figures.
    ViewInsight => EVERY_ROLE,
    /// Figures and logs as files.
    ExportCsv => Who::Roles(&[Owner, Admin, Compliance, Auditor]),
    /// What was asked of the API; personal values are masked for developers.
    ViewApiLog => Who::Roles(&[Owner, Admin, Compliance, Developer, Auditor]),
    /// The audit trail.
    ViewAudit => Who::Roles(&[Owner, Admin, Compliance, Auditor]),
    /// Erasing a person for good.
    ErasePerson => DATA_OFFICERS,
    /// All that is held about a person, as a file.
    ExportPerson => DATA_OFFICERS,
    /// How long things are kept.
    ManageRetention => RULE_MAKERS,
}

impl Action {
    /// Whether a password or code must have been given shortly before.
    pub fn needs_proof(self) -> bool {
        matches!(
            self,
            Action::ViewKeys
                | Action::ErasePerson
                | Action::ExportPerson
                | Action::ManageOperators
                | Action::RequireSecondFactor
        )
    }
}

/// Whether a member of the chosen account may.
pub fn may(role: Option<Role>, operator: bool, action: Action) -> bool {
    match action.who() {
        Who::Anybody | Who::SignedIn => true,
        Who::Operators => operator,
        Who::Roles(roles) => role.is_some_and(|role| roles.contains(&role)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auditors_change_nothing_and_developers_see_nobody() {
        for action in Action::ALL {
            let changes = matches!(
                action,
                Action::ManageStaff
                    | Action::ManageCompany
                    | Action::RequireSecondFactor
                    | Action::Apply
                    | Action::ViewKeys
                    | Action::EditFlows
                    | Action::EditGroups
                    | Action::ManageRules
                    | Action::MakeLinks
                    | Action::ManageWebhooks
                    | Action::Decide
                    | Action::SecondApproval
                    | Action::Reopen
                    | Action::ManageReasons
                    | Action::Suppress
                    | Action::ScreenWallet
                    | Action::ErasePerson
                    | Action::ExportPerson
                    | Action::ManageRetention
            );
            assert!(!(changes && may(Some(Auditor), false, *action)), "{action:?}");
            let people = matches!(
                action,
                Action::ViewQueue
                    | Action::ViewApplicant
                    | Action::Screen
                    | Action::ScreenWallet
                    | Action::ExportPerson
            );
            let rules = matches!(action, Action::ManageRules | Action::ManageRetention);
            assert!(
                !((people || rules) && may(Some(Developer), false, *action)),
                "{action:?}"
            );
        }
    }

    #[test]
    fn being_an_operator_opens_no_account() {
        for action in Action::ALL {
            if let Who::Roles(_) = action.who() {
                assert!(!may(None, true, *action), "{action:?}");
                assert!(may(Some(Owner), false, *action), "{action:?}");
            }
        }
        assert!(!may(Some(Owner), false, Action::Operate) && may(None, true, Action::Operate));
    }

    #[test]
    fn a_role_has_one_name() {
        for role in Role::ALL {
            assert_eq!(role.as_str().parse(), Ok(role));
        }
        assert_eq!("root".parse::<Role>(), Err(()));
    }
}
