// Package prometheus_test checks the dashboard and the alert rules of deploy: that Prometheus's own parser
// takes every expression, and that they name only metrics and labels of docs/metrics.md, whose tables come
// from what is exported.
package prometheus_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

const root = "../../"

var promql = parser.NewParser(parser.Options{})

// metrics are those of docs/metrics.md: by the names that queries use, the labels, and the values
// that each may have; none for any.
type metrics map[string]map[string][]string

// scraped are the labels that Prometheus adds.
var scraped = []string{"instance", "job"}

var row = regexp.MustCompile("(?m)^\\| `(nqueens_\\w+)` \\| (\\w+) \\| [^|]* \\| ([^|]*) \\| [^|]* \\|$")

func readMetrics(t *testing.T) metrics {
	t.Helper()
	known := make(metrics)
	for _, m := range row.FindAllStringSubmatch(read(t, "docs/metrics.md"), -1) {
		name, kind, columns := m[1], m[2], m[3]
		if kind == "histogram" {
			known[name+"_bucket"] = map[string][]string{"le": nil}
			known[name+"_sum"], known[name+"_count"] = nil, nil
			continue
		}
		all := make(map[string][]string)
		label, values, hasValues := strings.Cut(columns, ": ")
		switch {
		case hasValues:
			all[strings.Trim(label, "`")] = strings.Split(strings.ReplaceAll(values, "`", ""), ", ")
		case columns != "":
			for _, label := range strings.Split(columns, ", ") {
				all[strings.Trim(label, "`")] = nil
			}
		}
		known[name] = all
	}
	if len(known) == 0 {
		t.Fatal("docs/metrics.md has no metrics")
	}
	return known
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(root + path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// check returns what is wrong with an expression.
func (known metrics) check(text string) error {
	expr, err := promql.ParseExpr(text)
	if err != nil {
		return err
	}
	selectors := parser.ExtractSelectors(expr)
	if len(selectors) == 0 {
		return fmt.Errorf("%s: it names no metric", text)
	}
	for _, matchers := range selectors {
		if err := known.checkSelector(matchers); err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
	}
	return known.checkGroups(expr, text)
}

// checkSelector returns what is wrong with the metric that some matchers select.
func (known metrics) checkSelector(matchers []*labels.Matcher) error {
	name := ""
	for _, m := range matchers {
		if m.Name == model.MetricNameLabel && m.Type == labels.MatchEqual {
			name = m.Value
		}
	}
	its, ok := known[name]
	if !ok {
		return fmt.Errorf("docs/metrics.md has no metric %q", name)
	}
	for _, m := range matchers {
		values, ok := its[m.Name]
		switch {
		case m.Name == model.MetricNameLabel || slices.Contains(scraped, m.Name):
		case !ok:
			return fmt.Errorf("%s has no label %q", name, m.Name)
		case values != nil && !slices.ContainsFunc(values, m.Matches):
			return fmt.Errorf("no value of %s is %s", m.Name, m)
		}
	}
	return nil
}

// checkGroups returns an error if an aggregation is by labels that none of its metrics has.
func (known metrics) checkGroups(expr parser.Expr, text string) (err error) {
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		group, ok := node.(*parser.AggregateExpr)
		if !ok {
			return nil
		}
		for _, label := range group.Grouping {
			if slices.Contains(scraped, label) {
				continue
			}
			for _, matchers := range parser.ExtractSelectors(group.Expr) {
				for _, m := range matchers {
					if _, ok := known[m.Value][label]; m.Name == model.MetricNameLabel && !ok {
						err = fmt.Errorf("%s: %s has no label %q", text, m.Value, label)
					}
				}
			}
		}
		return nil
	})
	return err
}

// What is wrong with an expression is found.
func TestCheck(t *testing.T) {
	known := readMetrics(t)
	for _, expr := range []string{
		"nqueens_workers", `sum by (instance, state) (nqueens_tasks{state=~"done|waiting"})`,
		`rate(nqueens_search_duration_seconds_bucket{instance="a"}[5m])`, `nqueens_run_info{run=~"n20-.*"}`,
	} {
		if err := known.check(expr); err != nil {
			t.Errorf("%s: %v", expr, err)
		}
	}
	for _, expr := range []string{
		"", "1", "sum(", "nqueens_no_such", `nqueens_tasks{state="lost"}`, `nqueens_tasks{status="done"}`, "up",
		`{__name__=~"nqueens_.*"}`, "nqueens_search_duration_seconds", "sum by (state) (nqueens_workers)", "rate(nqueens_workers)",
	} {
		if known.check(expr) == nil {
			t.Errorf("%q passes", expr)
		}
	}
}

// Every alert has an expression that Prometheus takes, and says what it means and where to read on.
func TestAlerts(t *testing.T) {
	known := readMetrics(t)
	groups, errs := rulefmt.ParseFile(root+"deploy/prometheus/alerts.yml", false, model.LegacyValidation, promql, promslog.NewNopLogger())
	for _, err := range errs {
		t.Error(err)
	}
	if t.Failed() || len(groups.Groups) == 0 {
		t.Fatal("no rules")
	}
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			if err := known.check(rule.Expr); err != nil {
				t.Errorf("%s: %v", rule.Alert, err)
			}
			for _, name := range []string{"summary", "description"} {
				if rule.Annotations[name] == "" {
					t.Errorf("%s: no %s", rule.Alert, name)
				}
			}
			if rule.Alert == "" || rule.Labels["severity"] == "" {
				t.Errorf("%q: it needs a name and a severity", rule.Alert)
			}
			if page, _, _ := strings.Cut(rule.Annotations["runbook_url"], "#"); page != "docs/metrics.md" {
				t.Errorf("%s: the runbook is in %q", rule.Alert, page)
			}
			if !strings.Contains(read(t, "docs/metrics.md"), "`"+rule.Alert+"`") {
				t.Errorf("docs/metrics.md does not name %s", rule.Alert)
			}
		}
	}
}

// dashboard is what is checked of a dashboard of Grafana.
type dashboard struct {
	UID, Title, Description string
	Panels                  []panel
	Templating              struct {
		List []struct {
			Name, Type string
			Query      any
			Definition string
		}
	}
}

type panel struct {
	ID                       int
	Type, Title, Description string
	FieldConfig              struct{ Defaults struct{ Unit string } }
	Targets                  []struct{ RefID, Expr string }
}

// Every panel of the dashboard says what it shows, in which unit, from metrics that exist.
func TestDashboard(t *testing.T) {
	known := readMetrics(t)
	var d dashboard
	if err := json.Unmarshal([]byte(read(t, "deploy/grafana/nqueens.json")), &d); err != nil {
		t.Fatal(err)
	}
	if d.UID == "" || d.Title == "" || d.Description == "" || len(d.Panels) == 0 {
		t.Error("the dashboard needs an id, a title, a description and panels")
	}
	queries := expressions{replace: strings.NewReplacer("$__rate_interval", "1m", "$__interval", "1m", "$__range", "1h")}
	for _, v := range d.Templating.List {
		queries.variables = append(queries.variables, v.Name)
		if v.Type != "query" {
			continue
		}
		m := regexp.MustCompile(`^label_values\((.*), (\w+)\)$`).FindStringSubmatch(v.Definition)
		if m == nil {
			t.Errorf("the variable %s: %q is no query of a label", v.Name, v.Definition)
		} else if err := known.check(m[1]); err != nil {
			t.Errorf("the variable %s: %v", v.Name, err)
		}
	}
	seen := make(map[int]bool)
	for _, p := range d.Panels {
		if p.Type == "" || p.Title == "" || p.Description == "" || p.FieldConfig.Defaults.Unit == "" || len(p.Targets) == 0 || seen[p.ID] {
			t.Errorf("panel %d, %q, needs an id of its own, a type, a title, a description, a unit and a query", p.ID, p.Title)
		}
		seen[p.ID] = true
		for _, target := range p.Targets {
			expr, err := queries.expand(target.Expr)
			if err == nil {
				err = known.check(expr)
			}
			if err != nil || target.RefID == "" {
				t.Errorf("panel %q, query %q: %v", p.Title, target.RefID, err)
			}
		}
	}
}

// expressions replaces the variables of a dashboard, as Grafana does.
type expressions struct {
	variables []string
	replace   *strings.Replacer
}

var variable = regexp.MustCompile(`\$\{?(\w+)\}?`)

func (e *expressions) expand(expr string) (expanded string, err error) {
	expanded = variable.ReplaceAllStringFunc(e.replace.Replace(expr), func(text string) string {
		if name := variable.FindStringSubmatch(text)[1]; !slices.Contains(e.variables, name) {
			err = fmt.Errorf("the dashboard has no variable %s", name)
		}
		return ".*"
	})
	return expanded, err
}
