import type { Predicate, Prompt, Requestable, Stage } from '../api/schema.gen.ts'

/** How a role may be asked for, as a form holds it. */
export interface Asking {
  on: boolean
  stages: Stage[]
  prompts: Prompt[]
  requireExpiry: boolean
  /** In days; empty is without a bound. */
  days: string
}

const day = 86_400_000

export const asked = (of: Requestable | null | undefined): Asking => ({
  on: !!of,
  stages: of?.stages ?? [{ kind: 'management', layers: 1 }],
  prompts: of?.prompts ?? [],
  requireExpiry: of?.requireExpiry ?? false,
  days: of?.maxDurationMs ? String(of.maxDurationMs / day) : '',
})

/** The policy that a form says: null is none. Members that say the default are left out. */
export function policyOf(a: Asking): Requestable | null {
  if (!a.on) return null
  return {
    ...(a.prompts.length ? { prompts: a.prompts.map(questionOf) } : {}),
    ...(a.days.trim() ? { maxDurationMs: Math.round(Number(a.days) * day) } : {}),
    ...(a.requireExpiry ? { requireExpiry: true } : {}),
    stages: a.stages.map(stageOf),
  }
}

/** Whether two policies say the same. */
export const samePolicy = (a: Requestable | null | undefined, b: Requestable | null | undefined) => JSON.stringify(policyOf(asked(a))) === JSON.stringify(policyOf(asked(b)))

function stageOf(s: Stage): Stage {
  if (s.kind === 'management') return { kind: s.kind, layers: s.layers ?? 1 }
  if (s.kind === 'named_approvers') return { kind: s.kind, roleId: (s.roleId ?? '').trim() }
  if (s.kind === 'auto' && s.predicate) return { kind: s.kind, predicate: { type: s.predicate.type, [memberOf(s.predicate)]: valueOf(s.predicate).trim() } }
  return s
}

function questionOf(p: Prompt): Prompt {
  const options = (p.options ?? []).map(o => o.trim()).filter(Boolean)
  return { id: p.id.trim(), label: p.label.trim(), ...(options.length ? { kind: 'select', options } : {}), ...(p.required === false ? { required: false } : {}) }
}

const members = { in_group: 'groupId', in_org: 'orgId', member_of: 'subject', holds_pattern: 'pattern' } as const

export const predicates = Object.keys(members) as Array<keyof typeof members>

/** The member of a predicate that says of whom or what it asks. */
export const memberOf = (p: Predicate) => members[p.type as keyof typeof members] ?? 'subject'

export const valueOf = (p: Predicate) => p[memberOf(p)] ?? ''
