import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { useDark } from "../../lib/useDark";
import { type Picture, picture } from "./diagrams";

/** A diagram; nothing if it cannot be drawn, so that only its source is shown. */
export function Diagram({ source }: { source: string }) {
  const { t } = useTranslation("chat");
  const isDark = useDark();
  const [drawn, setDrawn] = useState<Picture | null>(null);
  useEffect(() => {
    let isWanted = true;
    void picture(source, isDark).then((found) => isWanted && setDrawn(found));
    return () => {
      isWanted = false;
    };
  }, [source, isDark]);
  if (drawn === null) return null;
  return (
    <div className="diagram" tabIndex={0} role="group">
      <img src={drawn.address} width={drawn.width} height={drawn.height} alt={t("diagram")} onError={() => setDrawn(null)} />
    </div>
  );
}
