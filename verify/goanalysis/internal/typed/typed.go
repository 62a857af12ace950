// Package typed asks types what goanalysis wants to know of them, below it and its
// rooms.
package typed

import "go/types"

// NamedOf is the named type behind aliases and one pointer; nil for others.
func NamedOf(t types.Type) *types.Named {
	t = types.Unalias(t)
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	named, _ := t.(*types.Named)
	return named
}

// IsNamed holds of the type of that name, and of no pointer to it.
func IsNamed(t types.Type, path, name string) bool {
	named, ok := types.Unalias(t).(*types.Named)
	return ok && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == path && named.Obj().Name() == name
}

// IsString holds of every type whose values are strings.
func IsString(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsString != 0
}

// IsHandler holds of func(http.ResponseWriter, *http.Request).
func IsHandler(sig *types.Signature) bool {
	p := sig.Params()
	if p.Len() != 2 || sig.Results().Len() != 0 || !IsNamed(p.At(0).Type(), "net/http", "ResponseWriter") {
		return false
	}
	r, ok := types.Unalias(p.At(1).Type()).(*types.Pointer)
	return ok && IsNamed(r.Elem(), "net/http", "Request")
}

// FullName is "path.Func" or "(path.Type).Method", of an interface's methods too; ""
// where the receiver has no name. The function has a package.
func FullName(fn *types.Func) string {
	sig, _ := fn.Type().(*types.Signature)
	if sig == nil || sig.Recv() == nil {
		return fn.Pkg().Path() + "." + fn.Name()
	}
	if named := NamedOf(sig.Recv().Type()); named != nil {
		return "(" + fn.Pkg().Path() + "." + named.Obj().Name() + ")." + fn.Name()
	}
	return ""
}
