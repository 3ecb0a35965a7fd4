// Package forecast shows forecasts.
package forecast
