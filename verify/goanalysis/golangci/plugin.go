// Package golangci makes the analyzer a module plugin of golangci-lint: name
// this package under plugins in .custom-gcl.yml and the linter "authzverify" in
// .golangci.yml. It stands alone because registering is a side effect of being
// imported, which golangci-lint asks for and nobody else should have.
package golangci

import (
	"fmt"

	"github.com/golangci/plugin-module-register/register"
	"golang.org/x/tools/go/analysis"

	"github.com/authzhost/authz/verify/goanalysis"
)

func init() { register.Plugin("authzverify", New) }

// settings are linters.settings.custom.authzverify.settings; see
// goanalysis.Options.
type settings struct {
	Config  string `json:"config"`
	Catalog string `json:"catalog"`
	Tests   bool   `json:"tests"`
}

type plugin struct{ analyzer *analysis.Analyzer }

// New reads the settings; unknown ones are refused.
func New(raw any) (register.LinterPlugin, error) {
	s, err := register.DecodeSettings[settings](raw)
	if err != nil {
		return nil, fmt.Errorf("authzverify: %w", err)
	}
	return plugin{goanalysis.NewAnalyzer(goanalysis.Options(s))}, nil
}

func (p plugin) BuildAnalyzers() ([]*analysis.Analyzer, error) {
	return []*analysis.Analyzer{p.analyzer}, nil
}

func (plugin) GetLoadMode() string { return register.LoadModeTypesInfo }
