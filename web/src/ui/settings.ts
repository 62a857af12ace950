import { useSyncExternalStore } from 'react'

// What this browser remembers: how the dashboard looks and listens, and nothing else.
const theme = 'authz.theme'
const letters = 'authz.letters'

export type Theme = 'system' | 'light' | 'dark'

const changed = new Set<() => void>()
const listen = (l: () => void) => (changed.add(l), () => void changed.delete(l))

function read(name: string): string | null {
  try {
    return localStorage.getItem(name)
  } catch {
    return null // a browser that keeps nothing
  }
}

function write(name: string, value: string) {
  try {
    localStorage.setItem(name, value)
  } catch {
    // likewise
  }
  changed.forEach(l => l())
}

export const readTheme = (): Theme => (read(theme) as Theme | null) ?? 'system'
export const singleLetters = () => read(letters) !== 'off'

export function applyTheme() {
  const to = readTheme()
  if (to === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = to
}

export function setTheme(to: Theme) {
  write(theme, to)
  applyTheme()
}

export const setSingleLetters = (on: boolean) => write(letters, on ? 'on' : 'off')

export const useTheme = () => useSyncExternalStore(listen, readTheme)
export const useSingleLetters = () => useSyncExternalStore(listen, singleLetters)

const narrow = window.matchMedia('(max-width: 860px)')
export const useNarrow = () =>
  useSyncExternalStore(
    l => (narrow.addEventListener('change', l), () => narrow.removeEventListener('change', l)),
    () => narrow.matches,
  )
