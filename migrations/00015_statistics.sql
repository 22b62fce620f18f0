-- Statistics for the query planner contain values of columns, and erasing a lead does not remove them. So none
-- are collected for columns with personal data. Columns with the keyed digests of leads are an
-- exception, because queries search for them.

-- +goose Up
ALTER TABLE leads ALTER COLUMN transaction_id SET STATISTICS 0,
    ALTER COLUMN quoted_postcode SET STATISTICS 0,
    ALTER COLUMN postcode SET STATISTICS 0,
    ALTER COLUMN ciphertext SET STATISTICS 0,
    ALTER COLUMN iv SET STATISTICS 0,
    ALTER COLUMN auth_tag SET STATISTICS 0,
    ALTER COLUMN partner_reference SET STATISTICS 0, -- partners and staff may put personal data into texts
    ALTER COLUMN sub_id SET STATISTICS 0;
ALTER TABLE lead_keys ALTER COLUMN salt SET STATISTICS 0,
    ALTER COLUMN wrapped_key SET STATISTICS 0,
    ALTER COLUMN answered_key SET STATISTICS 0;
ALTER TABLE consents ALTER COLUMN disclosure_digest SET STATISTICS 0,
    ALTER COLUMN recipient_hash SET STATISTICS 0,
    ALTER COLUMN form_cert_url SET STATISTICS 0,
    ALTER COLUMN third_party_lead_id SET STATISTICS 0;
ALTER TABLE disclosures ALTER COLUMN digest SET STATISTICS 0,
    ALTER COLUMN text SET STATISTICS 0;
ALTER TABLE disclosure_uses ALTER COLUMN digest SET STATISTICS 0;
ALTER TABLE pings ALTER COLUMN urgency SET STATISTICS 0,
    ALTER COLUMN postcode SET STATISTICS 0,
    ALTER COLUMN job_type SET STATISTICS 0,
    ALTER COLUMN budget SET STATISTICS 0;
ALTER TABLE returns ALTER COLUMN evidence SET STATISTICS 0,
    ALTER COLUMN decision_note SET STATISTICS 0;
ALTER TABLE adjustments ALTER COLUMN reason SET STATISTICS 0,
    ALTER COLUMN decision_note SET STATISTICS 0;
ALTER TABLE ledger_notes ALTER COLUMN note SET STATISTICS 0;
ALTER TABLE lead_reveals ALTER COLUMN note SET STATISTICS 0;
ALTER TABLE reconciliation_resolutions ALTER COLUMN note SET STATISTICS 0;
ALTER TABLE privacy_requests ALTER COLUMN reference SET STATISTICS 0,
    ALTER COLUMN identity_note SET STATISTICS 0,
    ALTER COLUMN extension_reason SET STATISTICS 0,
    ALTER COLUMN outcome_note SET STATISTICS 0;
ALTER TABLE privacy_request_leads ALTER COLUMN exception_note SET STATISTICS 0;
ALTER TABLE privacy_request_notices ALTER COLUMN note SET STATISTICS 0;
ALTER TABLE legal_holds ALTER COLUMN email_digests SET STATISTICS 0,
    ALTER COLUMN phone_digests SET STATISTICS 0;
