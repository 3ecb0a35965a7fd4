package kernel

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// processor is what /proc/cpuinfo tells. Each architecture has words of its own.
type processor struct {
	Model string   // as it names itself; "" when it does not
	MHz   float64  // of the first processor; 0 when not told
	Flags []string // of x86 alone
	S390  bool
}

// maxProcessors bounds the records looked at; what the machine is made of
// shows in the first ones.
const maxProcessors = 512

// parseCPUInfo reads /proc/cpuinfo. Of a key that comes again the first value
// counts, but for the parts of ARM: a machine can have several kinds of core.
func parseCPUInfo(data []byte) processor {
	first := map[string]string{}
	var parts []string
	var implementer string
	records := 0
	for line := range strings.Lines(string(data)) {
		key, value, ok := strings.Cut(line, ":")
		if !ok {
			if strings.TrimSpace(line) == "" {
				records++
			}
			if records > maxProcessors {
				break
			}
			continue
		}
		key, value = strings.ToLower(strings.TrimSpace(key)), strings.TrimSpace(value)
		switch key {
		case "cpu implementer":
			implementer = value
		case "cpu part":
			if name := armName(implementer, value); name != "" && !slices.Contains(parts, name) {
				parts = append(parts, name)
			}
		}
		if first[key] == "" {
			first[key] = value
		}
	}
	p := processor{Flags: strings.Fields(first["flags"]), S390: first["vendor_id"] == "IBM/S390"}
	p.Model = modelName(first, parts)
	for _, key := range []string{"cpu mhz", "cpu mhz dynamic", "clock"} {
		if mhz, err := strconv.ParseFloat(strings.TrimSuffix(first[key], "MHz"), 64); err == nil && mhz > 0 && mhz < 1e5 {
			p.MHz = mhz
			break
		}
	}
	return p
}

var s390Machine = regexp.MustCompile(`machine = ([0-9A-F]{4})`)

// modelName picks the line that names the processor.
func modelName(first map[string]string, armParts []string) string {
	if name := first["model name"]; name != "" { // x86, LoongArch, 32-bit ARM
		return name
	}
	if len(armParts) > 0 {
		return strings.Join(armParts, ", ")
	}
	if first["vendor_id"] == "IBM/S390" {
		for _, key := range []string{"processor 0", "processor 1", "processor 2"} { // which need not all be there
			if m := s390Machine.FindStringSubmatch(first[key]); m != nil {
				return "IBM/S390 machine " + m[1]
			}
		}
		return "IBM/S390"
	}
	if name := first["uarch"]; name != "" { // RISC-V
		return name
	}
	if isa := first["isa"]; strings.HasPrefix(isa, "rv") {
		base, _, _ := strings.Cut(isa, "_")
		return "RISC-V " + base
	}
	name, _, _ := strings.Cut(first["cpu"], ",") // POWER: "POWER9 (raw), altivec supported"
	return name
}

// armName names a core of ARM by the numbers in its main identification
// register, as lscpu does; "" when there are none.
func armName(implementer, part string) string {
	maker, err1 := strconv.ParseUint(implementer, 0, 8)
	core, err2 := strconv.ParseUint(part, 0, 16)
	if err1 != nil || err2 != nil {
		return ""
	}
	names := map[[2]uint64]string{
		{0x41, 0xd03}: "Cortex-A53", {0x41, 0xd05}: "Cortex-A55", {0x41, 0xd07}: "Cortex-A57", {0x41, 0xd08}: "Cortex-A72",
		{0x41, 0xd09}: "Cortex-A73", {0x41, 0xd0b}: "Cortex-A76", {0x41, 0xd0c}: "Neoverse-N1", {0x41, 0xd40}: "Neoverse-V1",
		{0x41, 0xd49}: "Neoverse-N2", {0x41, 0xd4a}: "Neoverse-E1", {0x41, 0xd4f}: "Neoverse-V2",
		{0x41, 0xd83}: "Neoverse-V3AE", {0x41, 0xd84}: "Neoverse-V3", {0x41, 0xd8e}: "Neoverse-N3",
		{0x42, 0x516}: "ThunderX2", {0x43, 0x0a1}: "ThunderX-88XX", {0x43, 0x0af}: "ThunderX2-99xx", {0x43, 0x0b8}: "ThunderX3-T110",
		{0x46, 0x001}: "A64FX", {0x48, 0xd01}: "Kunpeng-920", {0x48, 0xd02}: "Kunpeng-920", {0x50, 0x000}: "X-Gene",
		{0x51, 0xc00}: "Falkor", {0x6d, 0xd49}: "Azure-Cobalt-100", {0xc0, 0xac3}: "Ampere-1", {0xc0, 0xac4}: "Ampere-1a",
	}
	if name := names[[2]uint64{maker, core}]; name != "" {
		return name
	}
	return fmt.Sprintf("ARM implementer 0x%02x part 0x%03x", maker, core)
}
