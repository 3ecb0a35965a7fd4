package experiment

import (
	"slices"
	"strings"
	"testing"

	"plumb/internal/product"
)

// The engines that a file may name are those that the lab can make servers of.
func TestEnginesAreTheProducts(t *testing.T) {
	if is := strings.Fields(fieldsOf(&Server{})["engine"].Tag.Get("is")); !slices.Equal(is, product.Private()) {
		t.Errorf("a file may name %v, servers can be made of %v", is, product.Private())
	}
}
