import styles from "./frame.module.css";

export function Logo() {
  return (
    <svg className={styles.logo} viewBox="0 0 32 32" aria-hidden="true">
      <path d="M3 24h26M7 24v-6a9 9 0 0 1 18 0v6M16 9v15" />
    </svg>
  );
}
