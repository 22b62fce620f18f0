-- oldest program: 26
-- Requests other than those for a copy or for erasure, and the law that determines the deadline and the grounds for
-- a rejection (decision 72). Older programs apply the GDPR.

-- +goose Up
ALTER TABLE privacy_requests
    ADD COLUMN law text NOT NULL DEFAULT 'gdpr' CONSTRAINT privacy_requests_law_known CHECK (law IN ('gdpr', 'uk_gdpr', 'ccpa')),
    DROP CONSTRAINT privacy_requests_kind_known,
    ADD CONSTRAINT privacy_requests_kind_known CHECK (
        kind IN ('access', 'erasure', 'objection', 'restriction', 'withdrawal', 'rectification', 'complaint')),
    DROP CONSTRAINT privacy_requests_outcome_known,
    ADD CONSTRAINT privacy_requests_outcome_known CHECK (
        outcome IN ('exported', 'erased', 'done', 'nothing_found', 'rejected', 'withdrawn')),
    DROP CONSTRAINT privacy_requests_ground_known,
    ADD CONSTRAINT privacy_requests_ground_known CHECK (ground IN (
        'identity', 'excessive', 'repeated', 'rights_of_others', 'expression', 'obligation', 'public_health', 'archiving', 'legal_claims',
        'compelling', 'conditions', 'accurate', 'other_basis', 'fraudulent', 'transaction', 'security', 'internal_use'));
COMMENT ON TABLE privacy_requests IS 'Requests by consumers about their personal data, and complaints to authorities. What was searched for is not stored. A closed request is deleted after the configured time.';

-- +goose Down
COMMENT ON TABLE privacy_requests IS 'Requests by consumers for a copy of their personal data or its erasure. What was searched for is not stored. A closed request is deleted after the configured time.';
ALTER TABLE privacy_requests
    DROP CONSTRAINT privacy_requests_kind_known,
    ADD CONSTRAINT privacy_requests_kind_known CHECK (kind IN ('access', 'erasure')),
    DROP CONSTRAINT privacy_requests_outcome_known,
    ADD CONSTRAINT privacy_requests_outcome_known CHECK (outcome IN ('exported', 'erased', 'nothing_found', 'rejected', 'withdrawn')),
    DROP CONSTRAINT privacy_requests_ground_known,
    ADD CONSTRAINT privacy_requests_ground_known CHECK (ground IN ('identity', 'excessive', 'rights_of_others', 'expression', 'obligation', 'public_health', 'archiving', 'legal_claims')),
    DROP COLUMN law;
