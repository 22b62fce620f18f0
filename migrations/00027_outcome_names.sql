-- Renames the outcomes of unsigned posts in report-only mode to the names in metrics and the console.

-- +goose Up
UPDATE traffic_minutes SET outcome = replace(outcome, '_would_be_refused', '_would_be_rejected') WHERE outcome LIKE '%\_would\_be\_refused';

-- +goose Down
UPDATE traffic_minutes SET outcome = replace(outcome, '_would_be_rejected', '_would_be_refused') WHERE outcome LIKE '%\_would\_be\_rejected';
