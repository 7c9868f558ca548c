"""Languages of Universal Dependencies by the names and codes with which names of UDPipe's models
begin.
"""

from __future__ import annotations

_LANGUAGES = """
af afr afrikaans, am amh amharic, ar ara arabic, az aze azerbaijani, be bel belarusian, bg bul
bulgarian, bn ben bengali, br bre breton, bxr buryat, ca cat catalan, cop coptic, cs ces cze
czech, cu chu old-church-slavonic, cy cym wel welsh, da dan danish, de deu ger german, el ell gre
greek, en eng english, es spa spanish, et est estonian, eu eus baq basque, fa fas per persian, fi
fin finnish, fo fao faroese, fr fra fre french, fro old-french, ga gle irish, gd gla
scottish-gaelic, gl glg galician, got gothic, grc ancient-greek, gv glv manx, hbo ancient-hebrew,
he heb hebrew, hi hin hindi, hr hrv croatian, hsb upper-sorbian, hu hun hungarian, hy hye arm
armenian, hyw western-armenian, id ind indonesian, is isl ice icelandic, it ita italian, ja jpn
japanese, ka kat geo georgian, kk kaz kazakh, kmr kurmanji, ko kor korean, ky kir kyrgyz, la lat
latin, lij ligurian, lt lit lithuanian, lv lav latvian, lzh classical-chinese, mr mar marathi, mt
mlt maltese, nb nob no nor norwegian norwegian-bokmaal no-bokmaal, nl nld dut dutch, nn nno
norwegian-nynorsk no-nynorsk, orv old-east-slavic old-russian, pcm naija, pl pol polish, pt por
portuguese, qpm pomak, ro ron rum romanian, ru rus russian, sa san sanskrit, sk slk slo slovak, sl
slv slovenian, sme se north-sami, sq sqi alb albanian, sr srp serbian, sv swe swedish, ta tam
tamil, te tel telugu, th tha thai, tl tgl tagalog, tr tur turkish, ug uig uyghur, uk ukr
ukrainian, ur urd urdu, vi vie vietnamese, wo wol wolof, yo yor yoruba, zh zho chi chinese
"""
"""The code that a model has of its language, and what else names of models call the language."""

CODES = {
    name: code
    for code, *others in (row.split() for row in _LANGUAGES.split(","))
    for name in (code, *others)
}
"""Name or code -> the code that a model has; the parts of a name are joined by hyphens."""
