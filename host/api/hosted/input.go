package hosted

import (
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/authzhost/authz/host/service/fault"
)

// Paging is embedded in the input of lists.
type Paging struct {
	Limit  int64  `query:"limit,omitempty" min:"1" max:"1000"`
	Cursor string `query:"cursor,omitempty" max:"8192"`
}

// parameters reads the path's and the query's values into target, a pointer to a
// struct. An unknown query parameter and one that is given twice are refused.
func parameters(path map[string]string, rawQuery string, target any) *fault.Error {
	v := reflect.ValueOf(target).Elem()
	for _, f := range tagged(v.Type(), "path") {
		if problem := checkText(path[f.name], f.tag); problem != "" {
			return fault.Parameter(f.name, "%s", problem)
		}
		v.FieldByIndex(f.index).SetString(path[f.name])
	}
	query, problem := parseQuery(rawQuery)
	if problem != nil {
		return problem
	}
	known := tagged(v.Type(), "query")
	for _, f := range known {
		text, there := query[f.name]
		delete(query, f.name)
		if !there {
			if !f.optional {
				return fault.Parameter(f.name, "is required")
			}
			continue
		}
		if problem := setParameter(v.FieldByIndex(f.index), text, f.tag); problem != "" {
			return fault.Parameter(f.name, "%s", problem)
		}
	}
	unknown := make([]string, 0, len(query))
	for name := range query {
		unknown = append(unknown, name)
	}
	if len(unknown) > 0 {
		name := slices.Min(unknown)
		return fault.Parameter(echo(name), "is no parameter that this endpoint knows%s", meant(name, known))
	}
	return nil
}

func parseQuery(raw string) (map[string]string, *fault.Error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, fault.Parameter("query", "is not well-formed")
	}
	single := make(map[string]string, len(values))
	for name, all := range values {
		switch {
		case len(all) != 1:
			return nil, fault.Parameter(echo(name), "is given twice")
		case !utf8.ValidString(all[0]) || !utf8.ValidString(name) || strings.ContainsFunc(all[0], control):
			return nil, fault.Parameter(echo(name), "is not plain text")
		}
		single[name] = all[0]
	}
	return single, nil
}

// setParameter returns what is wrong with text, "" when nothing is.
func setParameter(v reflect.Value, text string, tag reflect.StructTag) string {
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Bool:
		yes, no := "true", "false"
		if tag.Get("flag") == "01" {
			yes, no = "1", "0"
		}
		if text != yes && text != no {
			return "must be " + yes + " or " + no
		}
		v.SetBool(text == yes)
	case reflect.Int64:
		n, err := strconv.ParseInt(text, 10, 64)
		least, most := bounds(tag, 0, 1<<53-1)
		if err != nil || strconv.FormatInt(n, 10) != text || n < least || n > most {
			return "must be an integer from " + strconv.FormatInt(least, 10) + " to " + strconv.FormatInt(most, 10)
		}
		v.SetInt(n)
	case reflect.Slice: // of strings, with commas between them
		parts := strings.Split(text, ",")
		if len(parts) > maxElements || slices.Contains(parts, "") {
			return "must be 1 to " + strconv.Itoa(maxElements) + " values with commas between them"
		}
		v.Set(reflect.ValueOf(parts))
	default:
		if problem := checkText(text, tag); problem != "" {
			return problem
		}
		v.SetString(text)
	}
	return ""
}

func control(r rune) bool { return r < 0x20 || r >= 0x7f && r <= 0x9f }
