package layout

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Renew writes another incarnation into the marker.
func (p *Partition) Renew(ctx context.Context, incarnation string) error {
	meta := p.Collection(Meta)
	changed, err := meta.Update(ctx, meta.Key(markerKey), bson.D{{Key: "$set", Value: bson.D{{Key: "incarnation", Value: incarnation}}}})
	if err == nil && !changed {
		err = errors.New("the marker vanished")
	}
	return err
}
