// Package kernel reads the machine and its kernel: processors, memory, huge
// pages, sysctls and the files that set them at boot, pressure, clock,
// security modules, and what the machine runs on.
//
// All of it becomes facts of the one thing of kind host. The package asks no
// server anything and judges nothing. A file this kernel does not have makes
// a fact absent ("not supported by this kernel"); one that may not be read
// leaves a gap.
//
// Sources: Documentation/admin-guide/sysctl, admin-guide/mm/transhuge,
// accounting/psi of the kernel; sysctl.d(5); proc(5).
package kernel
