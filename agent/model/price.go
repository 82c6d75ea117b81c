package model

import "context"

// Price is what a model costs, in micro US dollars for a million tokens
// (so 3 US dollars a million is 3_000_000). The zero value is free.
type Price struct {
	Input, CacheRead, CacheWrite, Output int64
}

// Cost is what usage costs at this price in micro US dollars, rounded up.
func (p Price) Cost(u Usage) int64 {
	const million = 1_000_000
	sum := u.Input*p.Input + u.CacheRead*p.CacheRead + u.CacheWrite*p.CacheWrite + u.Output*p.Output
	return (sum + million - 1) / million
}

// Tariff is a price that may be another one for long requests. The zero value
// is free.
type Tariff struct {
	Price
	// LongAbove is the input in tokens, cached or not, above which Long holds
	// for the whole request; zero for a price that is the same for all.
	LongAbove int64
	Long      Price
}

// Cost is what one request's usage costs in micro US dollars, rounded up. Sums
// over several requests do not tell which of them were long.
func (t Tariff) Cost(u Usage) int64 {
	if t.LongAbove > 0 && u.InputTotal() > t.LongAbove {
		return t.Long.Cost(u)
	}
	return t.Price.Cost(u)
}

// Priced is a [Model] whose replies tell what they cost.
type Priced struct {
	inner  Model
	tariff Tariff
}

// WithPrice decorates m.
func WithPrice(m Model, t Tariff) *Priced { return &Priced{inner: m, tariff: t} }

// Name is the name of the decorated model.
func (p *Priced) Name() string { return p.inner.Name() }

// Complete fills in Response.CostMicroUSD.
func (p *Priced) Complete(ctx context.Context, req Request) (Response, error) {
	res, err := p.inner.Complete(ctx, req)
	if err == nil {
		res.CostMicroUSD = p.tariff.Cost(res.Usage)
	}
	return res, err
}
