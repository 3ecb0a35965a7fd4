// Package playbook writes a plan as an Ansible playbook or a shell script, with
// its reverse.
package playbook
