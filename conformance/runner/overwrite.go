package runner

import "reflect"

// Overwrite scribbles over everything that v shares with others: the elements of
// its slices and maps and what its pointers point at.
func Overwrite(v any) { scribble(reflect.ValueOf(v), false) }

// scribble changes v itself only when it is shared.
func scribble(v reflect.Value, shared bool) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			scribble(v.Elem(), true)
		}
	case reflect.Slice:
		for i := range v.Len() {
			scribble(v.Index(i), true)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			scribble(v.MapIndex(key), true)
			v.SetMapIndex(key, reflect.Zero(v.Type().Elem()))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				scribble(v.Field(i), shared)
			}
		}
	case reflect.String:
		if shared && v.CanSet() {
			v.SetString("scribbled")
		}
	case reflect.Int64:
		if shared && v.CanSet() {
			v.SetInt(-77)
		}
	case reflect.Uint8:
		if shared && v.CanSet() {
			v.SetUint('!')
		}
	case reflect.Bool:
		if shared && v.CanSet() {
			v.SetBool(!v.Bool())
		}
	}
}
