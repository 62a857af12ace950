package provider_test

import (
	"context"
	"reflect"
	"testing"

	"github.com/authzhost/authz/sdk/provider"
)

// Operations that stand in no table are called by their declarations.
func init() {
	for _, op := range provider.Operations {
		if _, ok := hostedCalls[op.Op]; !ok && op.Method != "" && !elsewhere[op.Op] {
			hostedCalls[op.Op] = derived(op)
		}
	}
}

// The table is written by hand, for the members that the wire promises; declarations say
// the same.
func TestDeclarationsPromiseTheMembersOfTheTable(t *testing.T) {
	for _, op := range provider.Operations {
		written, ok := hostedCalls[op.Op]
		if !ok || op.Method == "" {
			continue
		}
		if d := derived(op); d.member != written.member || d.kind != written.kind {
			t.Errorf("%s: the table has %q %s, its declaration %q %s", op.Op, written.member, written.kind, d.member, d.kind)
		}
	}
}

// derived is the call of an operation with nothing in it, by its declaration.
func derived(op *provider.Operation) hostedCall {
	c := hostedCall{do: func(ctx context.Context, h *provider.Hosted) error { return called(ctx, h, op.Method) }}
	members := provider.Members(op.Output())
	switch {
	case op.List != "":
		c.member, c.kind = op.List, "list"
	case op.Lenient || len(members) == 0 || members[0].Optional:
	default:
		c.member = members[0].Name
		switch members[0].Type.Kind() {
		case reflect.Slice:
			c.kind = "list"
		case reflect.Pointer:
			c.kind = "nullable"
		case reflect.Bool:
			c.kind = "boolean"
		case reflect.Int, reflect.Int64:
			c.kind = "number"
		default:
			c.kind = "object"
		}
	}
	return c
}

// called calls a method of a hosted provider with zero values, and reads a list to its end.
func called(ctx context.Context, h *provider.Hosted, name string) error {
	method := reflect.ValueOf(h).MethodByName(name)
	in := []reflect.Value{reflect.ValueOf(ctx)}
	for i := 1; i < method.Type().NumIn(); i++ {
		in = append(in, reflect.Zero(method.Type().In(i)))
	}
	out := method.Call(in)
	last := out[len(out)-1]
	if last.Kind() == reflect.Func { // a list
		for _, err := range last.Seq2() {
			if failed, _ := err.Interface().(error); failed != nil {
				return failed
			}
		}
		return nil
	}
	err, _ := last.Interface().(error)
	return err
}
