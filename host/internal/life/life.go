package life

import "context"

type key struct{}

// Of says that what follows is judged against the content of an incarnation.
func Of(ctx context.Context, incarnation string) context.Context {
	return context.WithValue(ctx, key{}, incarnation)
}

// Judged is the incarnation that an operation is judged against, if it says so.
func Judged(ctx context.Context) (incarnation string, ok bool) {
	incarnation, ok = ctx.Value(key{}).(string)
	return incarnation, ok
}
