/** The look: one accent that is dark enough for white text, and readable greys. */
import { type CSSVariablesResolver, createTheme } from '@mantine/core'

export const theme = createTheme({
  primaryColor: 'pine',
  primaryShade: { light: 7, dark: 7 },
  colors: {
    pine: [
      '#e6f6f3',
      '#ccebe5',
      '#9ad8cd',
      '#66c3b4',
      '#3fb09f',
      '#1f9c8a',
      '#108573',
      '#0b7063',
      '#0a5c51',
      '#064239',
    ],
  },
  defaultRadius: 'md',
  fontFamily: 'Inter, system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif',
  headings: { fontWeight: '650' },
  cursorType: 'pointer',
})

export const variables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--mantine-color-dimmed': '#5a6169',
    '--mantine-color-anchor': '#0b7063',
    '--mantine-color-placeholder': '#6b7280',
  },
  dark: {
    '--mantine-color-dimmed': '#a9afb8',
    '--mantine-color-anchor': '#66c3b4',
    '--mantine-color-placeholder': '#9aa0a8',
  },
})
