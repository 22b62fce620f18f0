package main

import (
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/variants"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/statetimeline"
	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
	"github.com/grafana/grafana-foundation-sdk/go/units"
)

const (
	tag      = "pingpost"
	runbooks = "https://github.com/pingpost/pingpost/blob/main/docs/runbooks/"
)

// Widths of panels. A row has 24 columns.
const (
	sixth   = 4
	quarter = 6
	third   = 8
	half    = 12
)

const (
	numberHeight = 4
	graphHeight  = 8
)

// newDashboard returns a dashboard without panels. It has the variables, the links and the annotations that all
// dashboards have.
func newDashboard(uid, title, description string) *dashboard.DashboardBuilder {
	return dashboard.NewDashboardBuilder("Pingpost: "+title).
		Uid("pingpost-"+uid).
		Description(description).
		Tags([]string{tag}).
		Timezone(common.TimeZoneBrowser).
		Refresh("30s").
		Time("now-3h", "now").
		Tooltip(dashboard.DashboardCursorSyncCrosshair).
		Link(dashboard.NewDashboardLinkBuilder("Pingpost").
			Type(dashboard.DashboardLinkTypeDashboards).Tags([]string{tag}).IncludeVars(true).KeepTime(true)).
		Link(dashboard.NewDashboardLinkBuilder("Runbooks").Type(dashboard.DashboardLinkTypeLink).Icon("doc").
			Url(runbooks + "README.md").TargetBlank(true)).
		WithVariable(dashboard.NewDatasourceVariableBuilder("datasource").Label("Data source").Type("prometheus")).
		WithVariable(variable("job", "Job", "label_values(pingpost_build_info, job)").
			Current(option("pingpost", "pingpost"))).
		WithVariable(variable("instance", "Node", `label_values(pingpost_build_info{job="$job"}, instance)`).
			Multi(true).IncludeAll(true).AllValue(".+").Current(option("All", "$__all"))).
		Annotation(dashboard.NewAnnotationQueryBuilder().Name("Starts of nodes").Datasource(source).Enable(true).
			IconColor("blue").UseValueForTime(true).
			Expr(expand("process_start_time_seconds{NODES} * 1000 " +
				"* on (instance) group_left (version) pingpost_build_info{NODES}")).
			TitleFormat("{{instance}} started").TextFormat("Version {{version}}"))
}

// source refers to the Prometheus that the user has selected.
var source = common.DataSourceRef{Type: cog.ToPtr("prometheus"), Uid: cog.ToPtr("$datasource")}

func variable(name, label, query string) *dashboard.QueryVariableBuilder {
	return dashboard.NewQueryVariableBuilder(name).Label(label).Datasource(source).
		Query(dashboard.StringOrMap{String: &query}).
		Refresh(dashboard.VariableRefreshOnTimeRangeChanged).
		Sort(dashboard.VariableSortAlphabeticalAsc)
}

func option(text, value string) dashboard.VariableOption {
	return dashboard.VariableOption{
		Text:  dashboard.StringOrArrayOfString{String: &text},
		Value: dashboard.StringOrArrayOfString{String: &value},
	}
}

func row(title string) *dashboard.RowBuilder { return dashboard.NewRowBuilder(title) }

// expand replaces NODES with matchers that select the nodes that the user has selected.
func expand(expr string) string {
	return strings.ReplaceAll(expr, "NODES", `job="$job", instance=~"$instance"`)
}

// query is an expression in PromQL and what its series are called.
type query struct{ legend, expr string }

func (q query) builder() *prometheus.DataqueryBuilder {
	return prometheus.NewDataqueryBuilder().Expr(expand(q.expr)).LegendFormat(q.legend)
}

func targets(queries []query) []cog.Builder[variants.Dataquery] {
	var all []cog.Builder[variants.Dataquery]
	for i, q := range queries {
		all = append(all, q.builder().RefId(string(rune('A'+i))))
	}
	return all
}

// limits are the values at which the color of a panel changes.
type limits []dashboard.Threshold

// noLimits is for values that are neither good nor bad.
var noLimits = limits{{Color: "text"}}

// below returns limits for a value that should be below v.
func below(v float64) limits { return limits{{Color: "green"}, {Value: &v, Color: "red"}} }

// atLeast returns limits for a value that should be at least v.
func atLeast(v float64) limits { return limits{{Color: "red"}, {Value: &v, Color: "green"}} }

// within returns limits for a value that should differ from 0 by less than v.
func within(v float64) limits {
	low := -v
	return limits{{Color: "red"}, {Value: &low, Color: "green"}, {Value: &v, Color: "red"}}
}

func (l limits) builder() *dashboard.ThresholdsConfigBuilder {
	return dashboard.NewThresholdsConfigBuilder().Mode(dashboard.ThresholdsModeAbsolute).Steps(l)
}

// style draws limits as lines, if there are any.
func (l limits) style() *common.GraphThresholdsStyleConfigBuilder {
	mode := common.GraphThresholdsStyleModeDashed
	if len(l) == 1 {
		mode = common.GraphThresholdsStyleModeOff
	}
	return common.NewGraphThresholdsStyleConfigBuilder().Mode(mode)
}

// see returns links to the runbooks of alerts, for the end of a description.
func see(alerts ...string) string {
	var links []string
	for _, alert := range alerts {
		links = append(links, "["+alert+"]("+runbooks+alert+".md)")
	}
	return "\n\nRunbook: " + strings.Join(links, ", ")
}

// graph returns a panel with lines.
func graph(title, unit string, l limits, description string, queries ...query) *timeseries.PanelBuilder {
	return timeseries.NewPanelBuilder().
		Title(title).Description(description).Datasource(source).Targets(targets(queries)).
		Unit(unit).Thresholds(l.builder()).ThresholdsStyle(l.style()).
		Span(third).Height(graphHeight).
		AxisSoftMin(0).FillOpacity(10).ShowPoints(common.VisibilityModeNever).
		Legend(legend()).
		Tooltip(tooltip())
}

func legend() *common.VizLegendOptionsBuilder {
	return common.NewVizLegendOptionsBuilder().ShowLegend(true).DisplayMode(common.LegendDisplayModeList).
		Placement(common.LegendPlacementBottom)
}

func tooltip() *common.VizTooltipOptionsBuilder {
	return common.NewVizTooltipOptionsBuilder().Mode(common.TooltipDisplayModeMulti).Sort(common.SortOrderDescending)
}

// number returns a panel with the current value of each series.
func number(title, unit string, l limits, description string, q query) *stat.PanelBuilder {
	return stat.NewPanelBuilder().
		Title(title).Description(description).Datasource(source).WithTarget(q.builder().Instant()).
		Unit(unit).Thresholds(l.builder()).
		Span(sixth).Height(numberHeight).
		ReduceOptions(common.NewReduceDataOptionsBuilder().Calcs([]string{"lastNotNull"})).
		Orientation(common.VizOrientationAuto).
		GraphMode(common.BigValueGraphModeNone)
}

// list returns a table with the labels of the series, without their values.
func list(title, empty, description, expr string) *table.PanelBuilder {
	return table.NewPanelBuilder().
		Title(title).Description(description).NoValue(empty).Datasource(source).
		WithTarget(query{expr: expr}.builder().Instant().Format(prometheus.PromQueryFormatTable)).
		Unit(units.NoUnit).
		Span(third).Height(graphHeight).
		WithTransformation(dashboard.DataTransformerConfig{
			Id:      "organize",
			Options: map[string]any{"excludeByName": map[string]bool{"Time": true, "Value": true}},
		})
}

// states returns a panel that shows when each series was 1 (good) and 0 (bad).
func states(title, good, bad, description string, q query) *statetimeline.PanelBuilder {
	return statetimeline.NewPanelBuilder().
		Title(title).Description(description).Datasource(source).WithTarget(q.builder()).
		Unit(units.NoUnit).Mappings(words(good, bad)).
		Span(third).Height(graphHeight).
		ShowValue(common.VisibilityModeNever).
		Legend(legend()).
		Tooltip(tooltip())
}

// words shows the value 1 as good and 0 as bad.
func words(good, bad string) []dashboard.ValueMapping {
	return []dashboard.ValueMapping{{ValueMap: &dashboard.ValueMap{
		Type: dashboard.MappingTypeValueToText,
		Options: map[string]dashboard.ValueMappingResult{
			"0": {Text: &bad, Color: cog.ToPtr("red"), Index: cog.ToPtr[int32](1)},
			"1": {Text: &good, Color: cog.ToPtr("green"), Index: cog.ToPtr[int32](0)},
		},
	}}}
}
