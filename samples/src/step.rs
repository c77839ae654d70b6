//! A box as a STEP file: a real solid with 6 faces, 12 edges and 8 vertices.

use std::fmt::Write as _;

/// Corner `i` has bit 0 for x, bit 1 for y, bit 2 for z.
const FACES: [([usize; 4], [f64; 3], [f64; 3]); 6] = [
    ([0, 2, 3, 1], [0., 0., -1.], [1., 0., 0.]),
    ([4, 5, 7, 6], [0., 0., 1.], [1., 0., 0.]),
    ([0, 1, 5, 4], [0., -1., 0.], [1., 0., 0.]),
    ([2, 6, 7, 3], [0., 1., 0.], [1., 0., 0.]),
    ([0, 4, 6, 2], [-1., 0., 0.], [0., 1., 0.]),
    ([1, 3, 7, 5], [1., 0., 0.], [0., 1., 0.]),
];

/// A box of the given size, millimetres.
pub(crate) fn cuboid(name: &str, size: [f64; 3]) -> String {
    let mut s = String::new();
    let mut next = 100;
    let mut put = |s: &mut String, entity: String| {
        next += 1;
        let _ = writeln!(s, "#{next}={entity};");
        next
    };
    let xyz = |p: [f64; 3]| p.iter().map(|v| format!("{v:?}").replace("-0.0", "0.0")).collect::<Vec<_>>().join(",");
    let corner = |i: usize| [0, 1, 2].map(|a| if i >> a & 1 == 1 { size[a] } else { 0.0 });
    let points: Vec<_> = (0..8).map(|i| put(&mut s, format!("CARTESIAN_POINT('',({}))", xyz(corner(i))))).collect();
    let vertices: Vec<_> = points.iter().map(|p| put(&mut s, format!("VERTEX_POINT('',#{p})"))).collect();
    let mut edges = std::collections::BTreeMap::new();
    let mut faces = Vec::new();
    for (ring, normal, along) in FACES {
        let mut oriented = Vec::new();
        for k in 0..4 {
            let (from, to) = (ring[k], ring[(k + 1) % 4]);
            let key = (from.min(to), from.max(to));
            let edge = *edges.entry(key).or_insert_with(|| {
                let axis = (key.0 ^ key.1).trailing_zeros() as usize;
                let d = put(&mut s, format!("DIRECTION('',({}))", xyz([0, 1, 2].map(|a| f64::from(u8::from(a == axis))))));
                let v = put(&mut s, format!("VECTOR('',#{d},1.)"));
                let l = put(&mut s, format!("LINE('',#{},#{v})", points[key.0]));
                put(&mut s, format!("EDGE_CURVE('',#{},#{},#{l},.T.)", vertices[key.0], vertices[key.1]))
            });
            let sense = if from < to { ".T." } else { ".F." };
            oriented.push(put(&mut s, format!("ORIENTED_EDGE('',*,*,#{edge},{sense})")));
        }
        let list = oriented.iter().map(|o| format!("#{o}")).collect::<Vec<_>>().join(",");
        let ring_id = put(&mut s, format!("EDGE_LOOP('',({list}))"));
        let bound = put(&mut s, format!("FACE_OUTER_BOUND('',#{ring_id},.T.)"));
        let z = put(&mut s, format!("DIRECTION('',({}))", xyz(normal)));
        let x = put(&mut s, format!("DIRECTION('',({}))", xyz(along)));
        let at = put(&mut s, format!("AXIS2_PLACEMENT_3D('',#{},#{z},#{x})", points[ring[0]]));
        let plane = put(&mut s, format!("PLANE('',#{at})"));
        faces.push(put(&mut s, format!("ADVANCED_FACE('',(#{bound}),#{plane},.T.)")));
    }
    let list = faces.iter().map(|f| format!("#{f}")).collect::<Vec<_>>().join(",");
    let shell = put(&mut s, format!("CLOSED_SHELL('',({list}))"));
    let solid = put(&mut s, format!("MANIFOLD_SOLID_BREP('{name}',#{shell})"));
    format!(
        "ISO-10303-21;\nHEADER;\nFILE_DESCRIPTION((''),'2;1');\n\
         FILE_NAME('{name}.step','2026-03-01T10:00:00',(''),(''),'','redline-samples','');\n\
         FILE_SCHEMA(('AUTOMOTIVE_DESIGN {{ 1 0 10303 214 1 1 1 1 }}'));\nENDSEC;\nDATA;\n\
         #1=APPLICATION_CONTEXT('automotive design');\n\
         #2=APPLICATION_PROTOCOL_DEFINITION('international standard','automotive_design',2000,#1);\n\
         #3=PRODUCT_CONTEXT('',#1,'mechanical');\n#4=PRODUCT('{name}','{name}','',(#3));\n\
         #5=PRODUCT_DEFINITION_FORMATION('','',#4);\n#6=PRODUCT_DEFINITION_CONTEXT('part definition',#1,'design');\n\
         #7=PRODUCT_DEFINITION('design','',#5,#6);\n#8=PRODUCT_DEFINITION_SHAPE('','',#7);\n\
         #9=(LENGTH_UNIT() NAMED_UNIT(*) SI_UNIT(.MILLI.,.METRE.));\n\
         #10=(NAMED_UNIT(*) PLANE_ANGLE_UNIT() SI_UNIT($,.RADIAN.));\n\
         #11=(NAMED_UNIT(*) SI_UNIT($,.STERADIAN.) SOLID_ANGLE_UNIT());\n\
         #12=UNCERTAINTY_MEASURE_WITH_UNIT(LENGTH_MEASURE(1.E-6),#9,'distance_accuracy_value','');\n\
         #13=(GEOMETRIC_REPRESENTATION_CONTEXT(3) GLOBAL_UNCERTAINTY_ASSIGNED_CONTEXT((#12)) \
         GLOBAL_UNIT_ASSIGNED_CONTEXT((#9,#10,#11)) REPRESENTATION_CONTEXT('',''));\n\
         #14=CARTESIAN_POINT('',(0.,0.,0.));\n#15=AXIS2_PLACEMENT_3D('',#14,$,$);\n\
         {s}#16=ADVANCED_BREP_SHAPE_REPRESENTATION('{name}',(#15,#{solid}),#13);\n\
         #17=SHAPE_DEFINITION_REPRESENTATION(#8,#16);\nENDSEC;\nEND-ISO-10303-21;\n"
    )
}
