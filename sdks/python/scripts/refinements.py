"""
What `generate.py` adds to the OpenAPI document: names for its schemas and arguments, and types for the members that it
leaves open. A name that the document no longer has makes `generate.py` fail.
"""

# Schemas whose name is not that of the document without `Body`. Those of requests are in ARGUMENTS.
NAMES = {
    "AttemptsBody": "AttemptsPage",
    "DecisionBody": "AttemptDecision",
    "GeoBlockedCountryBody": "BlockedCountry",
    "InvitationsBody": "InvitationsPage",
    "InvitedSessionBody": "InvitedSession",
    "ListBody": "ListVersion",
    "ListedApplicantsBody": "ApplicantsPage",
    "ListedLinksBody": "LinksPage",
    "ListsBody": "ListVersions",
    "MatchBody": "MatchResult",
    "NameScreeningsBody": "NameScreeningsPage",
    "NewInvitationBody": "InvitationWithUrl",
    "ReasonedDecisionBody": "EvidenceDecision",
    "ResolvedBody": "ResolvedApplicant",
    "ScreeningAlertsBody": "ScreeningAlertsPage",
    "SearchBody": "SearchPage",
    "VerificationBody": "VerificationResult",
    "WalletAlertsBody": "WalletAlertsPage",
    "WalletScreeningsBody": "WalletScreeningsPage",
    "WebhookEventBody": "ListedEvent",
    "WebhookEventsBody": "EventsPage",
}

# Names for objects that the document describes where they are used.
INLINE = {"MatchRequest.queries": "ListSubject"}

# Types of members that the document leaves open.
MEMBERS = {
    "ApplicantBody": {"status": "AttemptStatus | None"},
    "AttemptBody": {"status": "AttemptStatus"},
    "AttemptSummaryBody": {"status": "AttemptStatus"},
    "DecisionBody": {"decision": "ReviewDecision"},
    "DecisionOutcomeBody": {"outcome": "DecisionResult", "status": "AttemptStatus"},
    "EvidenceBody": {"status": "AttemptStatus"},
    # The server sends these four as JSON inside strings; `flows.py` parses them.
    "FlowBody": {
        "countryOverrides": "list[CountryOverride]",
        "defaultDocumentTypes": "list[DocumentType]",
        "defaultFields": "DefaultFields",
        "geoBlockedCountries": "list[BlockedCountry]",
    },
    "GroupBody": {"status": "GroupStatus"},
    "InvitationBody": {"status": "InvitationStatus"},
    "KycResultsBody": {
        "furtherNames": "list[FurtherName] | None",
        "lists": "dict[str, str]",
        "queryParams": "dict[str, str]",
        "results": "list[ScreeningHit]",
        "status": "ScreeningStatus",
        "total": "ScreeningTotal",
    },
    "ListedApplicantBody": {"status": "AttemptStatus | None"},
    "ListedLinkBody": {"state": "LinkState"},
    "MatchRequest.queries": {"properties": "Mapping[str, str | Sequence[str]]"},
    "NameScreeningBody": {"screening": "KycResults"},
    "ReasonedDecisionBody": {"decision": "ReviewDecision"},
    "RegistrationBody": {"info": "ApplicantInfo", "status": "AttemptStatus | None"},
    "ScreeningAlertBody": {"hit": "ScreeningHit", "state": "AlertState"},
    # The server sends the result as JSON inside a string; `sessions.py` parses it. None until there is one.
    "SessionBody": {"result": "SessionResult | None", "status": "SessionStatus"},
    "SessionMetadata": {"stage": "SessionStage"},
    "VerificationBody": {
        "document_results": "list[DocumentOutcome] | None",
        "metadata": "SubmittedMetadata | None",
        "mrz_data": "MrzOutcome | None",
        "ocr_comparison": "OcrComparison | None",
    },
    "WholeAttemptBody": {"response": "VerificationResult"},
}

# The arguments of an operation, apart from those of its path, and those that its method takes by itself.
ARGUMENTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "createGroup": ("NewGroup", ()),
    "createInvitation": ("NewInvitation", ()),
    "createSessionLink": ("NewLink", ()),
    "addAttemptNote": ("NewNote", ()),
    "decideAttempt": ("NewDecision", ()),
    "listApplicants": ("ApplicantFilter", ()),
    "listAttempts": ("AttemptFilter", ()),
    "listEvents": ("EventFilter", ()),
    "listInvitations": ("InvitationFilter", ()),
    "listNameScreenings": ("NameScreeningFilter", ()),
    "listScreeningAlerts": ("ScreeningAlertFilter", ()),
    "listScreenings": ("WalletScreeningFilter", ()),
    "listSessionLinks": ("LinkFilter", ()),
    "listWalletAlerts": ("WalletAlertFilter", ()),
    "matchEntities": ("MatchOptions", ("queries",)),
    "screenTransaction": ("ScreeningRequest", ()),
    "searchLists": ("SearchOptions", ("q",)),
    "submitVerification": ("VerificationRequest", ("readings",)),
    "updateFlow": ("FlowChanges", ()),
    "updateGroup": ("GroupChanges", ()),
}

# Types of arguments that the document leaves open.
ARGUMENT_TYPES = {
    "ApplicantFilter": {"status": "AttemptStatus"},
    "AttemptFilter": {"status": "AttemptStatus"},
    "GroupChanges": {"status": "GroupStatus"},
    "InvitationFilter": {"status": "InvitationStatus"},
    "LinkFilter": {"state": "LinkState"},
    "NameScreeningFilter": {"status": "AttemptStatus"},
    "NewDecision": {"decision": "Verdict"},
    "NewGroup": {"status": "GroupStatus"},
    "ScreeningAlertFilter": {"state": "AlertState"},
    "ScreeningRequest": {"report": "Report | None", "type": "ScreeningKind"},
    "VerificationRequest": {"documentTypes": "DocumentType | Sequence[DocumentType]", "ocrMatch": "bool"},
}

# Operations whose methods take all arguments by themselves.
BY_HAND = {
    "eraseApplicant",
    "exportApplicant",
    "findApplicantByExternalUserId",
    "getDocumentRequirements",
    "getListedEntity",
    "getScreeningPicture",
}
