package main

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/authzhost/authz/conformance/runner"
)

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Skipped  int          `xml:"skipped,attr"`
	Time     string       `xml:"time,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name      string      `xml:"name,attr"`
	Tests     int         `xml:"tests,attr"`
	Failures  int         `xml:"failures,attr"`
	Errors    int         `xml:"errors,attr"`
	Skipped   int         `xml:"skipped,attr"`
	Time      string      `xml:"time,attr"`
	Timestamp string      `xml:"timestamp,attr"`
	Cases     []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Time    string        `xml:"time,attr"`
	Failure *junitFailure `xml:"failure"`
	Skipped *junitSkipped `xml:"skipped"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

type junitSkipped struct {
	Message string `xml:"message,attr"`
}

func (d document) writeJUnit(w io.Writer) error {
	all := junitSuites{Name: "authz-conformance " + d.Plugin.Name, Time: seconds(d.TookMs)}
	for _, name := range runner.Suites(allCases()) {
		s := junitSuite{Name: name, Timestamp: d.Started.Format("2006-01-02T15:04:05")}
		var took int64
		for _, c := range d.Cases {
			if c.Suite != name {
				continue
			}
			took += c.TookMs
			s.Tests++
			one := junitCase{Class: "conformance." + name, Name: c.ID + " " + c.Rule, Time: seconds(c.TookMs)}
			switch c.Outcome {
			case runner.Failed:
				s.Failures++
				one.Failure = &junitFailure{Message: c.Rule, Type: "conformance", Text: c.Failure.text()}
			case runner.Skipped:
				s.Skipped++
				one.Skipped = &junitSkipped{c.Reason}
			}
			s.Cases = append(s.Cases, one)
		}
		if s.Tests == 0 {
			continue
		}
		s.Time = seconds(took)
		all.Tests += s.Tests
		all.Failures += s.Failures
		all.Skipped += s.Skipped
		all.Suites = append(all.Suites, s)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (f *documentFailure) text() string {
	return fmt.Sprintf("done:\n  %s\nexpected: %s\ngot: %s\nwhere: %s\nrun again: %s\n",
		strings.Join(f.Done, "\n  "), f.Expected, f.Got, f.Where, f.Again)
}

func seconds(ms int64) string { return fmt.Sprintf("%.3f", float64(ms)/1000) }
