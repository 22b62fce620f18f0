module github.com/pingpost/pingpost/tools/dashboards

go 1.26

require github.com/grafana/grafana-foundation-sdk/go v0.0.22
