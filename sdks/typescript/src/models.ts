// Names for the generated models, and the members that the OpenAPI document leaves open: the JSON that the contract
// sends inside strings, the words of a status, and the members of free-form objects. It contains types only.
import type { components } from "./generated/openapi.js";
import type { Query } from "./transport.js";

type Schemas = components["schemas"];
type Replace<T, Changes> = Omit<T, keyof Changes> & Changes;

export type DocumentType = Schemas["DocumentTypeBody"];

// Groups and Flows
export type Group = Replace<Schemas["GroupBody"], { status: GroupStatus }>;
export type GroupStatus = "active" | "inactive";
export type NewGroup = Replace<Schemas["NewGroupBody"], { status?: GroupStatus }>;
export type GroupChanges = Replace<Schemas["GroupChangesBody"], { status?: GroupStatus }>;
export type DefaultFields = Schemas["DefaultFieldsBody"];
export type CountryOverride = Schemas["CountryOverrideBody"];
export type BlockedCountry = Schemas["GeoBlockedCountryBody"];
export type FlowChanges = Schemas["FlowChangesBody"];
/** A Flow. The four members that the server sends as JSON inside strings are parsed. */
export type Flow = Replace<
  Schemas["FlowBody"],
  {
    defaultFields: DefaultFields;
    defaultDocumentTypes: DocumentType[];
    countryOverrides: CountryOverride[];
    geoBlockedCountries: BlockedCountry[];
  }
>;

// Verification
/** A file: JPEG, PNG, WEBP, BMP or PDF, at most 10 MB. A `Buffer` is a `Uint8Array`. */
export type Upload = Blob | Uint8Array;
export type FileField =
  | "passportFront"
  | "driversFront"
  | "driversBack"
  | "idCardFront"
  | "idCardBack"
  | "residencyFront"
  | "residencyBack"
  | "selfie";
/** The data of a verification. A member that is undefined is left out. */
export type VerificationRequest = Replace<
  Omit<Schemas["VerificationForm"], FileField | "readings">,
  { documentTypes?: DocumentType | DocumentType[]; ocrMatch?: boolean } & { [Field in FileField]?: Upload }
>;
/** The outcome of a verification. Check `success`: it is true if every check passed and no review is needed. */
export type VerificationResult = Replace<
  Schemas["VerificationBody"],
  {
    kycResults: KycResults;
    metadata?: SubmittedMetadata | null;
    document_results?: DocumentOutcome[] | null;
    mrz_data?: { success: boolean; mrz_data: MrzData } | null;
    ocr_comparison?: OcrComparison | null;
  }
>;
export type KycResults = Replace<
  Schemas["KycResultsBody"],
  {
    status: "clear" | "match";
    results: ScreeningHit[];
    total: { value: number; relation: string };
    queryParams: Record<string, string>;
    furtherNames?: { source: string; name: string; queryParams: Record<string, string> }[] | null;
    lists: Record<string, string>;
  }
>;
/** An entry of a sanctions list that resembles the applicant. */
export interface ScreeningHit {
  id: string;
  caption: string;
  schema: string;
  /** 0–1. */
  score: number;
  match: boolean;
  datasets: string[];
  topics?: string[];
  programs?: string[];
  properties?: Record<string, string[]>;
  features?: Record<string, number>;
  matchedNames?: { source: string; name: string }[];
  [member: string]: unknown;
}
export interface SubmittedMetadata {
  externalUserId: string;
  info: { firstName: string; lastName: string; dob: string | null; country: string | null };
  ocrMatch: boolean;
  documents: { idDocType: DocumentType; country: string }[];
}
export interface DocumentOutcome {
  document_type: DocumentType;
  face_match: boolean;
  similarity_score: number;
  message: string;
}
export interface MrzData {
  status: string;
  given_name: string | null;
  surname: string | null;
  document_number: string | null;
  issuer_code: string | null;
  birth_date: string | null;
  expiry_date: string | null;
  sex: string | null;
  mrz_type: string;
}
export interface OcrComparison {
  match: boolean;
  match_score: number;
  field_results: Record<string, unknown>[];
  mismatches: unknown[];
  warnings: unknown[];
}
export type DocumentRequirements = Schemas["DocumentRequirementsBody"];

// Links, sessions and invitations
export type NewLink = Schemas["NewLinkBody"];
export type Link = Schemas["LinkBody"];
export type ExpectedPerson = Schemas["ExpectedPersonBody"];
export type SessionStatus = "pending" | "success" | "failed" | "expired";
/** A hosted session. `result`, which the server sends as JSON inside a string, is parsed. */
export type Session = Replace<
  Schemas["SessionBody"],
  {
    status: SessionStatus;
    /** The response of the deciding attempt; null until there is one. */
    result: (VerificationResult & { review?: { decision: "approve" | "decline"; at: string } }) | null;
    metadata: Replace<Schemas["SessionMetadata"], { stage: "open" | "in_review" | "done" }>;
  }
>;
export type LinkState = "open" | "used" | "expired" | "revoked";
/** A link without its URL, which only its creation returns. */
export type ListedLink = Replace<Schemas["ListedLinkBody"], { state: LinkState }>;
export type LinksPage = { links: ListedLink[]; next?: string | null };
export type LinkFilter = Replace<Query<"listSessionLinks">, { state?: LinkState }>;
export type InvitationStatus = "open" | "in_review" | "success" | "failed" | "expired" | "revoked";
export type Invitation = Replace<Schemas["InvitationBody"], { status: InvitationStatus }>;
export type InvitationDetail = Invitation & { sessions: Schemas["InvitedSessionBody"][] };
/** An invitation with its `url`, which is returned only this once. */
export type InvitationWithUrl = Invitation & { url: string };
export type NewInvitation = NewLink & { email?: string | null; language?: string | null };
export type InvitationsPage = { invitations: Invitation[]; next?: string | null };
export type InvitationFilter = Replace<Query<"listInvitations">, { status?: InvitationStatus }>;

// People
export type AttemptStatus = "approved" | "declined" | "failed" | "pending";
export type ResolvedApplicant = Replace<
  Schemas["ResolvedBody"],
  { applicants: Replace<Schemas["ApplicantBody"], { status?: AttemptStatus | null }>[] }
>;
export type ListedApplicant = Replace<Schemas["ListedApplicantBody"], { status?: AttemptStatus | null }>;
export type ApplicantsPage = { applicants: ListedApplicant[]; next?: string | null };
export type ApplicantFilter = Replace<Query<"listApplicants">, { status?: AttemptStatus }>;
export type ApplicantRecord = Replace<Schemas["ApplicantRecordBody"], { registrations: Registration[] }>;
export type Registration = Replace<
  Schemas["RegistrationBody"],
  { status?: AttemptStatus | null; info: ApplicantInfo; verifications: Attempt[] }
>;
export type Attempt = Replace<Schemas["AttemptBody"], { status: AttemptStatus }>;
/** What was submitted about a person, the newest value of each member; under `idDocs`, what documents state. */
export interface ApplicantInfo {
  firstName?: string;
  lastName?: string;
  /** `MM/DD/YYYY`. */
  dob?: string;
  phone?: string;
  email?: string;
  country?: string;
  nationality?: string;
  addresses?: { street?: string; town?: string; state?: string; postCode?: string; country?: string }[];
  idDocs?: Record<string, string | null | undefined>[];
  [member: string]: unknown;
}

// Attempts
export type AttemptSummary = Replace<Schemas["AttemptSummaryBody"], { status: AttemptStatus }>;
export type AttemptsPage = { attempts: AttemptSummary[]; next?: string | null };
export type AttemptFilter = Replace<Query<"listAttempts">, { status?: AttemptStatus }>;
/** An attempt with the submitted fields, the response as it was sent, and the reviewers' decisions. */
export type WholeAttempt = {
  attempt: AttemptSummary;
  submission: Record<string, string>;
  response: VerificationResult;
  decisions: { decision: "approve" | "decline" | "reopen"; decidedAt: string }[];
};

// Evidence, decisions and erasure, for keys with permissions
export type EvidenceDecision = Replace<
  Schemas["ReasonedDecisionBody"],
  { decision: "approve" | "decline" | "reopen"; reason?: string | null }
>;
/** What reviewers see. `findings` has the measures of the engines; members can be added to it at any time. */
export type Evidence = Replace<
  Schemas["EvidenceBody"],
  {
    status: AttemptStatus;
    findings: Record<string, unknown>;
    decisions: EvidenceDecision[];
    proposal?: EvidenceDecision | null;
  }
>;
export type NewDecision = Replace<Schemas["NewDecisionBody"], { decision: "approve" | "decline" }>;
export type DecisionOutcome = Replace<
  Schemas["DecisionOutcomeBody"],
  { outcome: "decided" | "proposed"; status: AttemptStatus }
>;
export type NewNote = Schemas["NewNoteBody"];
export type ErasedPerson = Schemas["ErasedPersonBody"];

// Screenings of names
export type NameScreening = Replace<Schemas["NameScreeningBody"], { screening: KycResults }>;
export type NameScreeningsPage = { screenings: NameScreening[]; next?: string | null };
export type NameScreeningFilter = Replace<Query<"listNameScreenings">, { status?: AttemptStatus }>;
export type AlertState = "open" | "same_person" | "other_person" | "delisted" | "no_match";
export type ScreeningAlert = Replace<Schemas["ScreeningAlertBody"], { state: AlertState; hit: ScreeningHit }>;
export type ScreeningAlertsPage = { alerts: ScreeningAlert[]; next?: string | null };
export type ScreeningAlertFilter = Replace<Query<"listScreeningAlerts">, { state?: AlertState }>;

// Webhook events
/** An event as the server keeps it. `data` is that of its messages. */
export type ListedEvent = Schemas["WebhookEventBody"];
export type EventsPage = Schemas["WebhookEventsBody"];
export type EventFilter = Query<"listEvents">;

// Transaction monitoring
export type ScreeningRequest = Replace<
  Schemas["ScreeningRequest"],
  { type: "address" | "transaction"; report?: "simple" | "detailed" }
>;
export type Screening = Schemas["ScreeningBody"];
export type Picture = Schemas["PictureBody"];
export type WalletAlert = Schemas["WalletAlertBody"];
export type WalletAlertsPage = Schemas["WalletAlertsBody"];
export type WalletAlertFilter = Query<"listWalletAlerts">;
export type WalletScreening = Schemas["WalletScreeningBody"];
export type WalletScreeningsPage = Schemas["WalletScreeningsBody"];
export type WalletScreeningFilter = Query<"listScreenings">;
export type WholeWalletScreening = Schemas["WholeWalletScreeningBody"];

// Lists
export type ListSubject = Schemas["MatchRequest"]["queries"][string];
export type MatchOptions = Query<"matchEntities"> & { dataset?: string };
export type MatchResult = Schemas["MatchBody"];
export type SearchOptions = Query<"searchLists"> & { dataset?: string };
export type SearchPage = Schemas["SearchBody"];
export type ListedEntity = Schemas["ListedEntityBody"];
export type Catalog = Schemas["CatalogBody"];
export type ListVersions = Schemas["ListsBody"];
export type Algorithms = Schemas["AlgorithmsBody"];
