//! Who may do what in the portal: one table, pure. It uses roles only; the store's scope determines whose
//! data it is.

/// A member's part in a merchant account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// May do everything. Only another owner can remove an owner.
    Owner,
    /// May do everything except the acts of owners and data officers.
    Admin,
    /// Decides, erases, exports, and sets the rules of verification.
    Compliance,
    /// Decides on applicants.
    Reviewer,
    /// Integrates: keys, webhooks, links, logs without personal data.
    Developer,
    /// Reads, and changes nothing.
    Auditor,
}

use Role::{Admin, Auditor, Compliance, Developer, Owner, Reviewer};

impl Role {
    /// Every role.
    pub const ALL: [Role; 6] = [Owner, Admin, Compliance, Reviewer, Developer, Auditor];

    /// Its name in the store, in URLs and in text keys.
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

/// Who may perform an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grantee {
    /// Everyone, signed in or not.
    Anybody,
    /// Every signed-in person, with or without an account.
    SignedIn,
    /// Operators of this installation.
    Operators,
    /// Members of the chosen account with one of these roles.
    Roles(&'static [Role]),
}

macro_rules! actions {
    ($($(#[$doc:meta])* $name:ident => $who:expr,)*) => {
        /// An action of the portal. Every route names one.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Action {
            $($(#[$doc])* $name,)*
        }

        impl Action {
            /// Every action.
            pub const ALL: &'static [Action] = &[$(Action::$name,)*];

            /// Who may perform it.
            pub fn who(self) -> Grantee {
                match self {
                    $(Action::$name => $who,)*
                }
            }
        }
    };
}

const EVERY_ROLE: Grantee = Grantee::Roles(&Role::ALL);
const IN_CHARGE: Grantee = Grantee::Roles(&[Owner, Admin]);
const BUILDERS: Grantee = Grantee::Roles(&[Owner, Admin, Developer]);
const RULE_MAKERS: Grantee = Grantee::Roles(&[Owner, Admin, Compliance]);
const DECIDERS: Grantee = Grantee::Roles(&[Owner, Admin, Compliance, Reviewer]);
const SEES_PEOPLE: Grantee = Grantee::Roles(&[Owner, Admin, Compliance, Reviewer, Auditor]);
const DATA_OFFICERS: Grantee = Grantee::Roles(&[Owner, Compliance]);

actions! {
    /// Signing in, and joining by a link.
    Public => Grantee::Anybody,
    /// The member's own profile.
    SignedIn => Grantee::SignedIn,
    /// Adding and removing the member's own passkeys.
    ManagePasskeys => Grantee::SignedIn,
    /// The operator console.
    Operate => Grantee::Operators,
    /// Inviting and dismissing operators.
    ManageOperators => Grantee::Operators,
    /// The first page.
    ViewDashboard => EVERY_ROLE,
    /// Inviting members, changing roles, removing access.
    ManageStaff => IN_CHARGE,
    /// The account's profile, branding, countries and origins.
    ManageCompany => IN_CHARGE,
    /// Requiring a second factor of all members.
    RequireSecondFactor => Grantee::Roles(&[Owner]),
    /// Applying for live access.
    Apply => Grantee::Roles(&[Owner]),
    /// API keys and their secrets.
    ViewKeys => BUILDERS,
    /// Letting an API key read evidence, decide, erase and export.
    PermitKeys => Grantee::Roles(&[Owner]),
    /// Viewing Flows and Groups.
    ViewFlows => EVERY_ROLE,
    /// Creating and changing Flows.
    EditFlows => Grantee::Roles(&[Owner, Admin, Compliance, Developer]),
    /// Creating and changing Groups.
    EditGroups => Grantee::Roles(&[Owner, Admin, Compliance, Developer]),
    /// When a Flow's attempts need a reviewer, and how many: review policy, four eyes, thresholds.
    ManageRules => RULE_MAKERS,
    /// Hosted links.
    MakeLinks => Grantee::Roles(&[Owner, Admin, Compliance, Reviewer, Developer]),
    /// Further links to invitations that others may have created. They open what belongs to the applicants.
    ReadInvitationLinks => DECIDERS,
    /// Webhooks: secrets, deliveries, tests.
    ManageWebhooks => BUILDERS,
    /// The review queue.
    ViewQueue => SEES_PEOPLE,
    /// A person's data and pictures.
    ViewApplicant => SEES_PEOPLE,
    /// Approving, declining, claims and notes.
    Decide => DECIDERS,
    /// Confirming and rejecting proposals; each kind of act requires a further permission.
    SecondApproval => DECIDERS,
    /// Reopening a decision.
    Reopen => RULE_MAKERS,
    /// The reason templates for reviewers.
    ManageReasons => RULE_MAKERS,
    /// Setting a hit aside: "Not this person".
    Suppress => RULE_MAKERS,
    /// Merging two people who are one, and splitting one person in two.
    MergePeople => RULE_MAKERS,
    /// Searching names by hand, and viewing screenings.
    Screen => SEES_PEOPLE,
    /// Screening wallets and transactions by hand. The query is stored, and may go to vendors.
    ScreenWallet => DECIDERS,
    /// Figures.
    ViewInsight => EVERY_ROLE,
    /// Exporting figures and logs as files.
    ExportCsv => Grantee::Roles(&[Owner, Admin, Compliance, Auditor]),
    /// The API log. Personal values are masked for developers.
    ViewApiLog => Grantee::Roles(&[Owner, Admin, Compliance, Developer, Auditor]),
    /// The audit trail.
    ViewAudit => Grantee::Roles(&[Owner, Admin, Compliance, Auditor]),
    /// Erasing a person permanently.
    ErasePerson => DATA_OFFICERS,
    /// Exporting all data about a person as a file.
    ExportPerson => DATA_OFFICERS,
    /// Retention periods.
    ManageRetention => RULE_MAKERS,
}

impl Action {
    /// Whether the action needs a password or code that was entered shortly before.
    pub fn needs_proof(self) -> bool {
        matches!(
            self,
            Action::ManagePasskeys
                | Action::ViewKeys
                | Action::PermitKeys
                | Action::ErasePerson
                | Action::ExportPerson
                | Action::ManageOperators
                | Action::RequireSecondFactor
        )
    }
}

/// Whether a member with this role, or an operator, may perform an action.
pub fn may(role: Option<Role>, operator: bool, action: Action) -> bool {
    match action.who() {
        Grantee::Anybody | Grantee::SignedIn => true,
        Grantee::Operators => operator,
        Grantee::Roles(roles) => role.is_some_and(|role| roles.contains(&role)),
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
                    | Action::PermitKeys
                    | Action::EditFlows
                    | Action::EditGroups
                    | Action::ManageRules
                    | Action::MakeLinks
                    | Action::ReadInvitationLinks
                    | Action::ManageWebhooks
                    | Action::Decide
                    | Action::SecondApproval
                    | Action::Reopen
                    | Action::ManageReasons
                    | Action::Suppress
                    | Action::MergePeople
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
                    | Action::ReadInvitationLinks
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
            if let Grantee::Roles(_) = action.who() {
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
