package hosted

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/sdk/authz"
)

// TestEveryCodeHasOneRow: what the sources raise is what the table has. That a code
// has one row only, the compiler says; that no other place names a status, the type:
// a fault has none.
func TestEveryCodeHasOneRow(t *testing.T) {
	raised := raisedCodes(t)
	for code := range raised {
		if _, ok := classes[code]; !ok {
			t.Errorf("%s is raised and has no status", code)
		}
	}
	for code, c := range classes {
		if !raised[code] {
			t.Errorf("%s has a status and is never raised", code)
		}
		if e := (&fault.Error{Name: c.name, Code: code}); e.Failed() != (c.status >= http.StatusInternalServerError) {
			t.Errorf("%s is %d and fails: %v", code, c.status, e.Failed())
		}
	}
}

// raisedCodes are the codes in the sources of this package and of the service's: the
// first arguments of what makes errors.
func raisedCodes(t *testing.T) map[string]bool {
	raised := map[string]bool{}
	for _, e := range []*fault.Error{ // made without an argument that says so
		fault.Invalid(), fault.Parameter("", ""), fault.Limited("", 0), fault.Internal(nil), fault.Storage(nil), fault.ProviderDown(nil, 0),
		fault.UnknownPermission(&authz.UnknownPermissionError{}), fault.UnknownScopeType(&authz.UnknownScopeTypeError{}),
		fault.MissingCondition(&authz.MissingConditionError{}), fault.Cycle(&authz.GraphCycleError{}),
	} {
		if classes[e.Code].name != e.Name && classes[e.Name].name != e.Name {
			t.Errorf("%s %s has another name in the table", e.Name, e.Code)
		}
		if e.Code == "" {
			e.Code = e.Name
		}
		raised[e.Code] = true
	}
	for _, code := range []authz.Code{authz.CodeValidation, authz.CodeNotFound, authz.CodeConflict, authz.CodeGraphCycle, authz.CodeNotOrgRoot, authz.CodeUnsupported} {
		raised[string(code)] = true // by Rejected, which takes no other type
	}
	for _, code := range []authz.PromotionCode{authz.UnresolvedConflicts, authz.InvalidResolution, authz.StaleResolutions} {
		raised[string(code)] = true // by federation, of an *authz.PromotionConflictError
	}
	computed := map[string][]string{
		"string(reason)":               {"forbidden", "inactive"},
		"string(authz.ReasonInactive)": {"inactive"},
		"codeRejected":                 {"relay_url_rejected"},
		"code":                         nil, // of about and protocol, whose callers are read
	}
	names := map[string]string{
		"fault.Cloud": "CloudError", "fault.Unauthenticated": "UnauthenticatedError", "fault.Registry": "RegistryError",
		"fault.Transport": fault.TransportName, "about": fault.TransportName, "fault.Denied": "AccessDeniedError", "protocol": "ProtocolError",
	}
	for _, root := range []string{".", "../../service"} {
		eachCall(t, root, func(callee, first string) {
			name, makes := names[callee]
			if !makes {
				return
			}
			codes, known := computed[first]
			if code, err := strconv.Unquote(first); err == nil {
				codes, known = []string{code}, true
			}
			if !known {
				t.Errorf("%s is called with the code %s: say here what that can be", callee, first)
			}
			for _, code := range codes {
				raised[code] = true
				if got := classes[code].name; got != name {
					t.Errorf("%s is of %s in the table, raised as %s", code, got, name)
				}
			}
		})
	}
	return raised
}

// eachCall tells of the calls in the sources below root: what is called, and the
// first argument, as they are written.
func eachCall(t *testing.T, root string, tell func(callee, first string)) {
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && len(call.Args) > 0 {
				tell(types.ExprString(call.Fun), types.ExprString(call.Args[0]))
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestAProviderThatIsDownIsToldAsAnInternalErrorToComeBackFrom(t *testing.T) {
	e := fault.ProviderDown(nil, 5000)
	if body := string(envelope(e, "r")); statusOf(e) != http.StatusServiceUnavailable || !strings.Contains(body, `"name":"InternalError","code":"internal"`) {
		t.Errorf("%d %s", statusOf(e), body)
	}
}
