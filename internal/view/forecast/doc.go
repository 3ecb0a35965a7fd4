// Package forecast writes what is forecast, what it rests on, and how earlier
// forecasts did.
package forecast
