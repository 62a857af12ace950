package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/authzhost/authz/internal/spell"
)

func (g *Go) read(f field) error {
	return strict(f, map[string]func(field) error{
		"packages":           many(&g.Packages, nonEmpty),
		"tests":              flag(&g.Tests),
		"clientPackages":     many(&g.ClientPackages, nonEmpty),
		"serverFunctions":    many(&g.ServerFunctions, nil),
		"clientFilePatterns": many(&g.ClientFiles, nil),
		"routes": func(f field) error {
			g.Routes = &Routes{}
			return strict(f, map[string]func(field) error{
				"gates":   many(&g.Routes.Gates, nonEmpty),
				"public":  many(&g.Routes.Public, publicRoute),
				"routers": many(&g.Routes.Routers, typeName),
			})
		},
	})
}

// strict reads an object whose members are all known.
func strict(f field, readers map[string]func(field) error) error {
	if f.kind() != '{' {
		return f.bad("must be an object, not %s", f.what())
	}
	var unknown []string
	if err := object(f.raw, f.name+".", &unknown, readers); err != nil {
		return err
	}
	if len(unknown) == 0 {
		return nil
	}
	f.name = unknown[0]
	names := slices.Sorted(maps.Keys(readers))
	if meant := spell.Nearest(unknown[0][strings.LastIndexByte(unknown[0], '.')+1:], names); meant != "" {
		return f.bad("is not known — did you mean %q?", meant)
	}
	return f.bad("is not known; members here are %s", strings.Join(names, ", "))
}

// publicRoute judges an entry of go.routes.public.
func publicRoute(s string) string {
	path := s
	if method, rest, ok := strings.Cut(s, " "); ok {
		if method != strings.ToUpper(method) || method == "" {
			return "must be a path or a method and a path, as \"GET /health\""
		}
		path = rest
	}
	switch {
	case !strings.HasPrefix(path, "/"):
		return "must name a path that begins with /"
	case path == "/*":
		return "would leave no route to judge: name what is public, as \"/static/*\""
	case strings.HasSuffix(path, "*") && !strings.HasSuffix(path, "/*"):
		return "must end in /* for all that lies below"
	}
	return ""
}

func typeName(s string) string {
	if dot := strings.LastIndexByte(s, '.'); dot <= strings.LastIndexByte(s, '/') || dot == len(s)-1 {
		return "must be an import path and a type, as \"example.com/app/web.Router\""
	}
	return ""
}
