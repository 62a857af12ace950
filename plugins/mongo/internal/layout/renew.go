package layout

import (
	"context"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// Renew writes another incarnation into the marker, over the one expected; "" expects
// any. It reports whether it did.
func (p *Partition) Renew(ctx context.Context, expect, incarnation string) (changed bool, err error) {
	meta := p.Collection(Meta)
	var expected []bson.E
	if expect != "" {
		expected = []bson.E{{Key: "incarnation", Value: expect}}
	}
	return meta.Update(ctx, meta.Key(markerKey, expected...), bson.D{{Key: "$set", Value: bson.D{{Key: "incarnation", Value: incarnation}}}})
}
